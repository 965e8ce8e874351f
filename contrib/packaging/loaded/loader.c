/* The part of the archive's netwatch-http that loads libcurl and OpenSSL from the machine when the program starts.

   Each function of these libraries that the program calls is here as a jump through a table. The table is filled before main,
   and only if every answer about TLS can be judged: otherwise the program says one sentence and ends with the status 2. So
   no request is ever made by a libcurl whose TLS is not the one that this program looks into.

   functions.h, which contrib/packaging/loaded/build makes, has a line FUNCTION(number, library, name) for each function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <curl/curl.h>

#define TEXT(tokens) TEXT_OF(tokens)
#define TEXT_OF(tokens) #tokens

/* PAGE: the largest page that Linux has on such machines, so that the table has its pages for itself. */
#if defined(__x86_64__)
#define PAGE 4096
#define JUMP(number) "endbr64\n  jmp *netwatch_table + 8 * " TEXT(number) "(%rip)\n"
#elif defined(__aarch64__)
#define PAGE 65536
#define JUMP(number)                            \
  "bti c\n"                                     \
  "  adrp x16, netwatch_table\n"                \
  "  add x16, x16, :lo12:netwatch_table\n"      \
  "  ldr x16, [x16, 8 * " TEXT(number) "]\n" \
  "  br x16\n"
#else
#error "There is no jump for this processor; write one above."
#endif

/* Hidden visibility, here and below, keeps libcurl from finding these functions instead of OpenSSL's own. */
__attribute__((visibility("hidden"), aligned(PAGE))) void *netwatch_table[PAGE / sizeof(void *)];

#define FUNCTION(number, library, name)    \
  __asm__(".pushsection .text\n"           \
          "  .globl " #name "\n"           \
          "  .hidden " #name "\n"          \
          "  .type " #name ", %function\n" \
          "  .balign 16\n" #name ":\n"     \
          "  " JUMP(number)                \
          "  .size " #name ", . - " #name "\n" \
          "  .popsection\n");
#include "functions.h"
#undef FUNCTION

enum { libcurl, libssl, libcrypto, libraries };

static const struct {
  int library;
  const char *name;
} functions[] = {
#define FUNCTION(number, library, name) [number] = {library, #name},
#include "functions.h"
#undef FUNCTION
};

#define COUNT (sizeof functions / sizeof *functions)
_Static_assert(COUNT <= PAGE / sizeof(void *), "The table has no room for all functions.");

/* Says a sentence as netwatch does, and ends the program as netwatch does when it cannot run. */
__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...) {
  char sentence[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(sentence, sizeof sentence, format, values);
  va_end(values);
  dprintf(STDERR_FILENO, "netwatch: %s\n", sentence);
  _exit(2);
}

static const char wanted[] = "libcurl 7.87 or later that uses the machine's OpenSSL 3";

#if defined(__x86_64__)
#define IS_BOUND(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#else
#define IS_BOUND(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

/* Counts the functions whose name begins with PREFIX that a library calls in another one; -1 if it calls one that is not the
   OWNER's. The addresses are those that the loader has bound: dlsym cannot say whether a library has such functions inside as
   well, or whether a third one stands before. */
static int calls(void *library, const char *prefix, void *owner) {
  struct link_map *map;
  const char *strings = NULL;
  const ElfW(Sym) *symbols = NULL;
  struct {
    const ElfW(Rela) *first;
    size_t size;
  } tables[2] = {{NULL, 0}, {NULL, 0}};
  int count = 0;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return -1;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    const void *place = (const void *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = place;
    if (entry->d_tag == DT_SYMTAB) symbols = place;
    if (entry->d_tag == DT_RELA) tables[0].first = place;
    if (entry->d_tag == DT_RELASZ) tables[0].size = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) tables[1].first = place;
    if (entry->d_tag == DT_PLTRELSZ) tables[1].size = entry->d_un.d_val;
  }
  for (int table = 0; table < 2; table++)
    for (size_t index = 0; index < tables[table].size / sizeof(ElfW(Rela)); index++) {
      const ElfW(Rela) *entry = &tables[table].first[index];
      const char *name = strings + symbols[ELF64_R_SYM(entry->r_info)].st_name;
      if (!IS_BOUND(ELF64_R_TYPE(entry->r_info)) || strncmp(name, prefix, strlen(prefix)) != 0) continue;
      if (*(void *const *)(map->l_addr + entry->r_offset) != dlsym(owner, name)) return -1;
      count++;
    }
  return count;
}

/* Counts what is loaded of OpenSSL. */
static int count(struct dl_phdr_info *info, size_t size, void *counts) {
  (void)size;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash ? slash + 1 : info->dlpi_name;
  if (strncmp(name, "libssl.", 7) == 0) ((int *)counts)[0]++;
  if (strncmp(name, "libcrypto.", 10) == 0) ((int *)counts)[1]++;
  return 0;
}

/* Calls a function without arguments that returns an unsigned number, such as OPENSSL_version_major; 0 if it is not there. */
static unsigned number(void *library, const char *name) {
  unsigned (*function)(void) = (unsigned (*)(void))dlsym(library, name);
  return function ? function() : 0;
}

/* Before the constructors of everything else in this program: none of them may find the table empty. */
__attribute__((constructor(101))) static void load(void) {
  void *library[libraries];
  /* RTLD_GLOBAL because the program looks for libraries that libcurl has brought, such as brotli, among all that is loaded. */
  library[libcurl] = dlopen("libcurl.so.4", RTLD_NOW | RTLD_GLOBAL);
  if (!library[libcurl])
    refuse("netwatch-http cannot be started without libcurl: %s; install %s (the package is libcurl4 on Debian)", dlerror(),
           wanted);

  curl_version_info_data *(*version_info)(CURLversion) =
      (curl_version_info_data * (*)(CURLversion)) dlsym(library[libcurl], "curl_version_info");
  const curl_version_info_data *curl = version_info ? version_info(CURLVERSION_NOW) : NULL;
  if (!curl) refuse("netwatch-http cannot use a libcurl that does not tell its version; install %s", wanted);
  const char *tls = curl->ssl_version ? curl->ssl_version : "no TLS";
  /* Parentheses are around the libraries that libcurl can be told to use instead. Which one it uses is then not known. */
  if (curl->version_num < 0x075700 || strncmp(tls, "OpenSSL/3.", 10) != 0 || strpbrk(tls, " ()") ||
      curl->features & CURL_VERSION_MULTI_SSL)
    refuse("netwatch-http needs %s; this one is libcurl %s with %s", wanted, curl->version, tls);

  library[libssl] = dlopen("libssl.so.3", RTLD_NOW | RTLD_NOLOAD);
  library[libcrypto] = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD);
  int loaded[2] = {0, 0};
  dl_iterate_phdr(count, loaded);
  if (!library[libssl] || !library[libcrypto] || calls(library[libcurl], "SSL_", library[libssl]) == 0)
    refuse("netwatch-http needs %s; this one, libcurl %s, has OpenSSL inside", wanted, curl->version);
  if (loaded[0] != 1 || loaded[1] != 1)
    refuse("netwatch-http needs %s; this one, libcurl %s, brings more than one OpenSSL", wanted, curl->version);
  /* libcurl asks the library that it uses for this version when it is asked itself. */
  char own[64];
  snprintf(own, sizeof own, "OpenSSL/%u.%u.%u", number(library[libcrypto], "OPENSSL_version_major"),
           number(library[libcrypto], "OPENSSL_version_minor"), number(library[libcrypto], "OPENSSL_version_patch"));
  size_t length = strlen(own);
  if (calls(library[libcurl], "SSL_", library[libssl]) < 0 || calls(library[libcurl], "X509_", library[libcrypto]) < 0 ||
      calls(library[libssl], "X509_", library[libcrypto]) <= 0 ||
      strncmp(tls, own, length) != 0 || (tls[length] >= '0' && tls[length] <= '9'))
    refuse("netwatch-http needs %s; this one, libcurl %s with %s, uses another than the loaded %s", wanted, curl->version, tls,
           own);

  for (size_t index = 0; index < COUNT; index++) {
    netwatch_table[index] = dlsym(library[functions[index].library], functions[index].name);
    if (!netwatch_table[index])
      refuse("netwatch-http cannot use libcurl %s with %s, which lacks the function %s; install a newer one", curl->version, tls,
             functions[index].name);
  }
  /* Nobody writes there again. */
  if (mprotect(netwatch_table, sizeof netwatch_table, PROT_READ) != 0)
    refuse("netwatch-http cannot protect its table of functions: %m");
}
