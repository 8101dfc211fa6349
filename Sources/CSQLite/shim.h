#pragma once
#include <sqlite3.h>

// sqlite3_db_config is variadic, which Swift does not import. Text in double quotes is a column's name and nothing else: a
// misspelt one is an error and not a text.
static inline int csqlite_refuse_double_quoted_text(sqlite3 *database) {
  int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  return code != SQLITE_OK ? code : sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
}
