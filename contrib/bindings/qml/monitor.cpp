#include "monitor.h"

#include <QJsonDocument>
#include <QQmlExtensionPlugin>
#include <QQmlEngine>
#include <vector>

void NetworkMonitor::setOptions(const QStringList &options) {
  if (options == m_options) return;
  m_options = options;
  Q_EMIT optionsChanged();
  if (m_isComplete) open();
}

void NetworkMonitor::componentComplete() {
  m_isComplete = true;
  open();
}

bool NetworkMonitor::holds(const QString &condition) const {
  return m_handle && netwatch_holds(m_handle.get(), condition.toUtf8().constData()) == 1;
}

// The notifier may be what calls.
void NetworkMonitor::stopWatching() {
  if (!m_notifier) return;
  m_notifier->setEnabled(false);
  m_notifier.release()->deleteLater();
}

void NetworkMonitor::open() {
  stopWatching();
  m_handle.reset();
  QList<QByteArray> words;
  for (const QString &option : std::as_const(m_options)) words.append(option.toUtf8());
  std::vector<const char *> texts;
  for (const QByteArray &word : std::as_const(words)) texts.push_back(word.constData());
  texts.push_back(nullptr);
  netwatch *handle = nullptr;
  if (netwatch_open(texts.data(), &handle) < 0) return fail();
  m_handle.reset(handle);
  m_notifier = std::make_unique<QSocketNotifier>(netwatch_fd(handle), QSocketNotifier::Read);
  connect(m_notifier.get(), &QSocketNotifier::activated, this, &NetworkMonitor::dispatch);
  if (!m_error.isEmpty()) {
    m_error.clear();
    Q_EMIT errorChanged();
  }
  readLine();
}

void NetworkMonitor::dispatch() {
  const int changes = netwatch_dispatch(m_handle.get());
  if (changes < 0) {
    // The state stays as it is.
    stopWatching();
    return fail();
  }
  if (changes > 0) readLine();
}

// A slot of a signal may change the options, so nothing is read from the handle after the first signal.
void NetworkMonitor::readLine() {
  const char *text = netwatch_line(m_handle.get());
  const QJsonObject line = text ? QJsonDocument::fromJson(text).object() : QJsonObject();
  const QJsonObject before = std::exchange(m_line, line);
  m_reason = line["reason"].toString();
  m_description = QString::fromUtf8(netwatch_get(m_handle.get(), "description"));
  m_isReachable = netwatch_get_status(m_handle.get()) > NETWATCH_NOT_REACHABLE;
  const auto isNews = [&](const char *name) { return line[QLatin1String(name)] != before[QLatin1String(name)]; };
  const bool hasOtherAccess =
      line["reachability"].toObject()["internet"] != before["reachability"].toObject()["internet"];
  if (isNews("reachability")) Q_EMIT pathChanged();
  if (hasOtherAccess) Q_EMIT accessChanged();
  if (isNews("activity")) Q_EMIT activityChanged();
  if (isNews("stages")) Q_EMIT stagesChanged();
  if (isNews("quality")) Q_EMIT qualityChanged();
  if (isNews("traffic")) Q_EMIT trafficChanged();
}

void NetworkMonitor::fail() {
  m_error = QString::fromUtf8(netwatch_error_text());
  Q_EMIT errorChanged();
}

class NetwatchPlugin : public QQmlExtensionPlugin {
  Q_OBJECT
  Q_PLUGIN_METADATA(IID QQmlExtensionInterface_iid)

public:
  void registerTypes(const char *uri) override { qmlRegisterType<NetworkMonitor>(uri, 1, 0, "NetworkMonitor"); }
};

#include "monitor.moc"
