/* SQLite: the log of changes. No code but for the pointer that stands for "copy it", which Swift cannot import, and for a
   function with variable arguments, which Swift cannot call. */
#include <sqlite3.h>

static inline int netwatch_bind_text(sqlite3_stmt *statement, int place, const char *text, int length) {
  return sqlite3_bind_text(statement, place, text, length, SQLITE_TRANSIENT);
}

static inline int netwatch_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int length) {
  return sqlite3_bind_blob(statement, place, bytes, length, SQLITE_TRANSIENT);
}

static inline int netwatch_configure(sqlite3 *connection, int option, _Bool isOn) {
  return sqlite3_db_config(connection, option, (int)isOn, (int *)0);
}
