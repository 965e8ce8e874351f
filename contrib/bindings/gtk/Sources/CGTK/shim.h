#include <glib-unix.h>
#include <gtk/gtk.h>

// The main queue of libdispatch, on which the main actor runs: an eventfd that is readable when there is work, and the function that
// does this work. libdispatch exports them for run loops such as that of Foundation.
int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *unused);
