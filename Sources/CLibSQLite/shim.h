/* SQLite: the log of changes. No code but for the pointer that stands for "copy it", which Swift cannot import, for a
   function with variable arguments, which Swift cannot call, and for the error of a file, which SQLite hides behind pointers. */
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

/* The errno of the last call that failed on the write-ahead log or on the database. sqlite3_system_errno returns the errno of
   whatever SQLite has done since, such as the rollback. */
static inline int netwatch_last_file_error(sqlite3 *connection) {
  int code = 0;
  sqlite3_file *log = 0;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods)
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code);
  if (code == 0) sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &code);
  return code;
}
