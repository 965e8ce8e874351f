// The QML type NetworkMonitor of the module Netwatch, on libnetwatch. It belongs to the thread of its engine, and has none of its own.
#pragma once

#include <QJsonObject>
#include <QQmlParserStatus>
#include <QSocketNotifier>
#include <QStringList>
#include <QVariantMap>
#include <memory>

#include <netwatch.h>

class NetworkMonitor : public QObject, public QQmlParserStatus {
  Q_OBJECT
  Q_INTERFACES(QQmlParserStatus)

  // What is watched: options of netwatch_open(), such as "quality" or "target=192.0.2.7". A change opens the monitor again.
  Q_PROPERTY(QStringList options READ options WRITE setOptions NOTIFY optionsChanged)
  // Members of a line, as netwatch-events(5) describes them. A map is empty, and access null, while nothing is known.
  Q_PROPERTY(QVariantMap path READ path NOTIFY pathChanged)
  Q_PROPERTY(QVariantMap activity READ activity NOTIFY activityChanged)
  Q_PROPERTY(QVariant access READ access NOTIFY accessChanged)
  Q_PROPERTY(QVariantMap stages READ stages NOTIFY stagesChanged)
  Q_PROPERTY(QVariantMap quality READ quality NOTIFY qualityChanged)
  Q_PROPERTY(QVariantMap traffic READ traffic NOTIFY trafficChanged)
  // Why the last line came, such as "no_carrier", and how this machine is connected, in a sentence's words.
  Q_PROPERTY(QString reason READ reason NOTIFY pathChanged)
  Q_PROPERTY(QString description READ description NOTIFY pathChanged)
  // Whether there is a way to the internet, or to the target.
  Q_PROPERTY(bool isReachable READ isReachable NOTIFY pathChanged)
  // A sentence about why nothing is watched; empty if the monitor works.
  Q_PROPERTY(QString error READ error NOTIFY errorChanged)

public:
  using QObject::QObject;

  QStringList options() const { return m_options; }
  void setOptions(const QStringList &options);
  QVariantMap path() const { return member("reachability"); }
  QVariantMap activity() const { return member("activity"); }
  QVariant access() const { return m_line["reachability"].toObject()["internet"].toVariant(); }
  QVariantMap stages() const { return member("stages"); }
  QVariantMap quality() const { return member("quality"); }
  QVariantMap traffic() const { return member("traffic"); }
  QString reason() const { return m_reason; }
  QString description() const { return m_description; }
  bool isReachable() const { return m_isReachable; }
  QString error() const { return m_error; }

  // Whether a condition of `netwatch --for` holds, such as "unmetered"; false if it is not known.
  Q_INVOKABLE bool holds(const QString &condition) const;

  void classBegin() override {}
  void componentComplete() override;

Q_SIGNALS:
  void optionsChanged();
  void pathChanged();
  void activityChanged();
  void accessChanged();
  void stagesChanged();
  void qualityChanged();
  void trafficChanged();
  void errorChanged();

private:
  struct Closer {
    void operator()(netwatch *handle) const { netwatch_close(handle); }
  };

  QVariantMap member(const char *name) const { return m_line[QLatin1String(name)].toObject().toVariantMap(); }
  void open();
  void stopWatching();
  void dispatch();
  void readLine();
  void fail();

  QStringList m_options;
  bool m_isComplete = false;
  // Before the notifier, which must not outlive the descriptor.
  std::unique_ptr<netwatch, Closer> m_handle;
  std::unique_ptr<QSocketNotifier> m_notifier;
  QJsonObject m_line;
  QString m_reason, m_description, m_error;
  bool m_isReachable = false;
};
