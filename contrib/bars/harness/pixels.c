/* Prints a line whenever a part of the screen changes: microseconds since 1970, and what names the picture.
 *   pixels X Y WIDTH HEIGHT */
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

/* A window may go while it is looked at. */
static int ignore(Display *display, XErrorEvent *event) {
  (void)display;
  (void)event;
  return 0;
}

/* The root's picture lacks windows of another depth. */
static XImage *picture(Display *display, int x, int y, unsigned width, unsigned height) {
  Window root = DefaultRootWindow(display), child = None;
  int inner_x, inner_y;
  XTranslateCoordinates(display, root, root, x, y, &inner_x, &inner_y, &child);
  if (child == None) return NULL;
  XTranslateCoordinates(display, root, child, x, y, &inner_x, &inner_y, &root);
  return XGetImage(display, child, inner_x, inner_y, width, height, AllPlanes, ZPixmap);
}

int main(int argc, char **argv) {
  if (argc != 5) return 64;
  Display *display = XOpenDisplay(NULL);
  if (!display) return fprintf(stderr, "pixels: no display\n"), 1;
  unsigned width = atoi(argv[3]), height = atoi(argv[4]);
  uint64_t last = 0;
  XSetErrorHandler(ignore);
  for (;; nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL)) {
    XImage *image = picture(display, atoi(argv[1]), atoi(argv[2]), width, height);
    if (!image) continue;
    struct timeval now;
    gettimeofday(&now, NULL);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < (size_t)image->bytes_per_line * height; i++)
      hash = (hash ^ (unsigned char)image->data[i]) * 1099511628211u;
    XDestroyImage(image);
    if (hash != last) {
      printf("%lld%06d %016llx\n", (long long)now.tv_sec, (int)now.tv_usec, (unsigned long long)hash);
      fflush(stdout);
      last = hash;
    }
  }
}
