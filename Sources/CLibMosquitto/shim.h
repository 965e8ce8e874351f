/* libmosquitto: the client of MQTT 3.1.1. No code. */
#include <mosquitto.h>
