#include "compiler/tune/TuningDatabase.h"

#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/status/status_macros.h"
#include "sqlite3.h"

namespace aitune {
namespace {

/// How long to wait for another process that writes.
constexpr int kBusyMilliseconds = 10000;
/// "AITT": identifies tuning databases among SQLite's files (PRAGMA
/// application_id).
constexpr int kApplicationId = 0x41495454;

constexpr char kSchema[] = R"(
  CREATE TABLE records (
    kernel TEXT NOT NULL, target TEXT NOT NULL, config TEXT NOT NULL,
    form TEXT NOT NULL, features TEXT NOT NULL, flops REAL NOT NULL,
    bytes REAL NOT NULL, microseconds REAL NOT NULL, low REAL NOT NULL,
    high REAL NOT NULL, note TEXT NOT NULL, version TEXT NOT NULL,
    time INTEGER NOT NULL, PRIMARY KEY (kernel, target, config));
  CREATE TABLE choices (
    kernel TEXT NOT NULL, target TEXT NOT NULL, version TEXT NOT NULL,
    config TEXT NOT NULL, PRIMARY KEY (kernel, target));
  CREATE INDEX records_form ON records (form, target, time);
)";

constexpr char kReadApplicationId[] = "PRAGMA application_id";

constexpr char kColumns[] = "kernel, target, config, form, features, flops, "
                            "bytes, microseconds, low, high, note, version, "
                            "time";

/// A prepared statement, which is finalised when it is destroyed.
class Statement {
public:
  Statement(sqlite3 *handle, const std::string &sql) {
    sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement); }
  Statement(const Statement &) = delete;

  explicit operator bool() const { return statement != nullptr; }
  void bind(int index, const std::string &value) {
    sqlite3_bind_text(statement, index, value.c_str(), value.size(),
                      SQLITE_TRANSIENT);
  }
  void bind(int index, double value) {
    sqlite3_bind_double(statement, index, value);
  }
  void bind(int index, int64_t value) {
    sqlite3_bind_int64(statement, index, value);
  }
  int step() { return sqlite3_step(statement); }
  void reset() { sqlite3_reset(statement); }
  std::string text(int column) const {
    const unsigned char *value = sqlite3_column_text(statement, column);
    return value ? reinterpret_cast<const char *>(value) : "";
  }
  double number(int column) const {
    return sqlite3_column_double(statement, column);
  }
  int64_t integer(int column) const {
    return sqlite3_column_int64(statement, column);
  }

private:
  sqlite3_stmt *statement = nullptr;
};

std::string toText(const std::vector<double> &features) {
  return nlohmann::json(features).dump();
}

std::vector<double> toFeatures(const std::string &text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  std::vector<double> features;
  if (json.is_array())
    for (const nlohmann::json &value : json)
      features.push_back(value.is_number() ? value.get<double>() : 0);
  return features;
}

nlohmann::json toJson(const TuningRecord &record) {
  return {{"kernel", record.kernel},     {"target", record.target},
          {"config", record.config},     {"form", record.form},
          {"features", record.features}, {"flops", record.flops},
          {"bytes", record.bytes},       {"microseconds", record.microseconds},
          {"low", record.low},           {"high", record.high},
          {"note", record.note},         {"version", record.version},
          {"time", record.time}};
}

/// Throws nlohmann::json::exception for what is no record.
TuningRecord fromJson(const nlohmann::json &json) {
  TuningRecord record;
  json.at("kernel").get_to(record.kernel);
  json.at("target").get_to(record.target);
  json.at("config").get_to(record.config);
  json.at("form").get_to(record.form);
  json.at("features").get_to(record.features);
  json.at("flops").get_to(record.flops);
  json.at("bytes").get_to(record.bytes);
  json.at("microseconds").get_to(record.microseconds);
  json.at("low").get_to(record.low);
  json.at("high").get_to(record.high);
  json.at("note").get_to(record.note);
  json.at("version").get_to(record.version);
  json.at("time").get_to(record.time);
  return record;
}

/// Whether the file system that the file is on lets nobody write.
bool isReadOnly(const std::string &path) {
  struct statvfs info;
  return statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

/// SQLite's name of a file that nobody writes to, so that it needs no files
/// beside it.
std::string immutableName(const std::string &path) {
  std::error_code error;
  const std::string absolute =
      std::filesystem::absolute(path, error).lexically_normal().string();
  return absl::StrCat(
      "file://",
      absl::StrReplaceAll(absolute, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}),
      "?immutable=1");
}

} // namespace

absl::StatusOr<std::unique_ptr<TuningDatabase>>
TuningDatabase::open(const std::string &path) {
  const bool readOnly = isReadOnly(path);
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty())
    std::filesystem::create_directories(folder, ignored);
  sqlite3 *handle = nullptr;
  const int opened = sqlite3_open_v2(
      readOnly ? immutableName(path).c_str() : path.c_str(), &handle,
      SQLITE_OPEN_FULLMUTEX |
          (readOnly ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                    : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE),
      nullptr);
  std::unique_ptr<TuningDatabase> database(new TuningDatabase(handle, path));
  if (opened != SQLITE_OK)
    return database->error("open");
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  AITUNE_ASSIGN_OR_RETURN(int64_t id, database->number(kReadApplicationId));
  if (readOnly && id != kApplicationId)
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' is no tuning database"));
  if (readOnly)
    return database;
  // The identifier comes with the tables, in one transaction.
  if (id != kApplicationId)
    AITUNE_RETURN_IF_ERROR(database->create());
  AITUNE_RETURN_IF_ERROR(database->useWriteAheadLog());
  AITUNE_RETURN_IF_ERROR(database->execute("PRAGMA synchronous = NORMAL"));
  return database;
}

absl::Status TuningDatabase::create() {
  // Waits for another that creates it, too.
  AITUNE_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  absl::Status status = createLocked();
  if (status.ok())
    status = execute("COMMIT");
  if (!status.ok())
    sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status TuningDatabase::createLocked() {
  AITUNE_ASSIGN_OR_RETURN(const int64_t id, number(kReadApplicationId));
  if (id == kApplicationId)
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const int64_t tables,
                          number("SELECT count(*) FROM sqlite_master"));
  if (tables != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("'", path,
                     "' is a database of another program; name another file "
                     "for tuning results"));
  AITUNE_RETURN_IF_ERROR(execute(kSchema));
  return execute(
      absl::StrCat("PRAGMA application_id = ", kApplicationId).c_str());
}

absl::Status TuningDatabase::useWriteAheadLog() {
  // Changing the mode needs exclusive access to the file. SQLite does not wait
  // for it, because a process that is reading could wait for this one.
  const absl::Time end = absl::Now() + absl::Milliseconds(kBusyMilliseconds);
  for (;;) {
    const int code = sqlite3_exec(handle, "PRAGMA journal_mode = WAL", nullptr,
                                  nullptr, nullptr);
    if (code == SQLITE_OK)
      return absl::OkStatus();
    if (code != SQLITE_BUSY || absl::Now() > end)
      return error("write");
    absl::SleepFor(absl::Milliseconds(1));
  }
}

absl::StatusOr<int64_t> TuningDatabase::number(const char *sql) {
  Statement statement(handle, sql);
  if (!statement || statement.step() != SQLITE_ROW)
    return error("read");
  return statement.integer(0);
}

TuningDatabase::~TuningDatabase() { sqlite3_close(handle); }

absl::Status TuningDatabase::error(const char *doing) const {
  const int code = handle ? sqlite3_errcode(handle) : SQLITE_NOMEM;
  const std::string text =
      absl::StrCat("tuning database '", path, "': cannot ", doing,
                   " it: ", handle ? sqlite3_errmsg(handle) : "out of memory");
  switch (code) {
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT:
    return absl::FailedPreconditionError(
        absl::StrCat(text, "; delete the file or name another"));
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return absl::PermissionDeniedError(text);
  case SQLITE_FULL:
    return absl::ResourceExhaustedError(text);
  default:
    return absl::UnavailableError(text);
  }
}

absl::Status TuningDatabase::execute(const char *sql) {
  return sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK
             ? absl::OkStatus()
             : error("write");
}

absl::Status TuningDatabase::record(const std::vector<TuningRecord> &records) {
  std::lock_guard<std::mutex> lock(mutex);
  AITUNE_RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  {
    Statement insert(
        handle, absl::StrCat("INSERT INTO records (", kColumns,
                             ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON "
                             "CONFLICT DO UPDATE SET form = excluded.form, "
                             "features = excluded.features, "
                             "flops = excluded.flops, bytes = excluded.bytes, "
                             "microseconds = excluded.microseconds, "
                             "low = excluded.low, high = excluded.high, "
                             "note = excluded.note, "
                             "version = excluded.version, "
                             "time = excluded.time "
                             "WHERE excluded.time >= records.time"));
    for (const TuningRecord &record : records) {
      if (insert) {
        insert.reset();
        insert.bind(1, record.kernel);
        insert.bind(2, record.target);
        insert.bind(3, record.config);
        insert.bind(4, record.form);
        insert.bind(5, toText(record.features));
        insert.bind(6, record.flops);
        insert.bind(7, record.bytes);
        insert.bind(8, record.microseconds);
        insert.bind(9, record.low);
        insert.bind(10, record.high);
        insert.bind(11, record.note);
        insert.bind(12, record.version);
        insert.bind(13, record.time);
      }
      if (!insert || insert.step() != SQLITE_DONE) {
        absl::Status status = error("write");
        sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
        return status;
      }
    }
  }
  absl::Status status = execute("COMMIT");
  if (!status.ok())
    sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::StatusOr<std::vector<TuningRecord>>
TuningDatabase::query(const std::string &condition,
                      const std::vector<std::string> &values) {
  std::lock_guard<std::mutex> lock(mutex);
  Statement select(
      handle, absl::StrCat("SELECT ", kColumns, " FROM records ", condition));
  if (!select)
    return error("read");
  for (size_t i = 0; i < values.size(); ++i)
    select.bind(i + 1, values[i]);
  std::vector<TuningRecord> records;
  int outcome;
  while ((outcome = select.step()) == SQLITE_ROW) {
    TuningRecord record;
    record.kernel = select.text(0);
    record.target = select.text(1);
    record.config = select.text(2);
    record.form = select.text(3);
    record.features = toFeatures(select.text(4));
    record.flops = select.number(5);
    record.bytes = select.number(6);
    record.microseconds = select.number(7);
    record.low = select.number(8);
    record.high = select.number(9);
    record.note = select.text(10);
    record.version = select.text(11);
    record.time = select.integer(12);
    records.push_back(std::move(record));
  }
  if (outcome != SQLITE_DONE)
    return error("read");
  return records;
}

absl::StatusOr<std::vector<TuningRecord>>
TuningDatabase::find(const std::string &kernel, const std::string &target) {
  return query("WHERE kernel = ? AND target = ? "
               "ORDER BY microseconds < 0, microseconds",
               {kernel, target});
}

absl::Status TuningDatabase::choose(const std::string &kernel,
                                    const std::string &target,
                                    const std::string &version,
                                    const std::string &config) {
  std::lock_guard<std::mutex> lock(mutex);
  Statement insert(handle, "INSERT OR REPLACE INTO choices "
                           "(kernel, target, version, config) "
                           "VALUES (?,?,?,?)");
  if (!insert)
    return error("write");
  insert.bind(1, kernel);
  insert.bind(2, target);
  insert.bind(3, version);
  insert.bind(4, config);
  return insert.step() == SQLITE_DONE ? absl::OkStatus() : error("write");
}

absl::StatusOr<std::string> TuningDatabase::chosen(const std::string &kernel,
                                                   const std::string &target,
                                                   const std::string &version) {
  std::lock_guard<std::mutex> lock(mutex);
  Statement select(handle, "SELECT config FROM choices WHERE kernel = ? AND "
                           "target = ? AND version = ?");
  if (!select)
    return error("read");
  select.bind(1, kernel);
  select.bind(2, target);
  select.bind(3, version);
  const int outcome = select.step();
  if (outcome == SQLITE_ROW)
    return select.text(0);
  return outcome == SQLITE_DONE ? absl::StatusOr<std::string>("")
                                : error("read");
}

absl::StatusOr<std::vector<TuningRecord>>
TuningDatabase::findForm(const std::string &form, const std::string &target,
                         int limit) {
  return query(absl::StrCat("WHERE form = ? AND target = ? ORDER BY time DESC "
                            "LIMIT ",
                            limit),
               {form, target});
}

absl::StatusOr<int64_t> TuningDatabase::exportTo(const std::string &path) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records,
                          query("ORDER BY kernel, target, config", {}));
  std::ofstream file(path);
  for (const TuningRecord &record : records)
    // Notes of failures may name paths, which need not be UTF-8.
    file << toJson(record).dump(-1, ' ', false,
                                nlohmann::json::error_handler_t::replace)
         << '\n';
  file.close();
  if (!file)
    return absl::UnavailableError(
        absl::StrCat("cannot write '", path, "': ", std::strerror(errno)));
  return records.size();
}

absl::StatusOr<int64_t> TuningDatabase::importFrom(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return absl::NotFoundError(
        absl::StrCat("cannot read '", path, "': ", std::strerror(errno)));
  std::vector<TuningRecord> records;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    try {
      records.push_back(fromJson(nlohmann::json::parse(line)));
    } catch (const nlohmann::json::exception &problem) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "', line ", number,
                       " is no tuning record: ", problem.what()));
    }
  }
  AITUNE_RETURN_IF_ERROR(record(records));
  return records.size();
}

absl::StatusOr<TuningDatabase::Summary> TuningDatabase::summarize() {
  std::lock_guard<std::mutex> lock(mutex);
  Statement select(handle, "SELECT count(DISTINCT kernel), count(*), "
                           "count(*) FILTER (WHERE microseconds < 0) "
                           "FROM records");
  if (!select || select.step() != SQLITE_ROW)
    return error("read");
  return Summary{select.integer(0), select.integer(1), select.integer(2)};
}

} // namespace aitune
