#!/bin/sh
# What must be there before anything starts; each failure is one sentence with the remedy. Argument: a Python, or nothing.
refuse() { echo "weir: $1" >&2; exit 1; }

[ -n "$1" ] || refuse "Python 3.11 or newer is missing; install it (Debian 12: apt-get install python3 python3-venv)"
"$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    refuse "$1 is older than Python 3.11; install a newer one and run: make PYTHON=python3.11"
"$1" -c 'import ensurepip, venv' 2>/dev/null ||
    refuse "$1 cannot make virtual environments; install its venv module (Debian: apt-get install python3-venv)"

java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
command -v "$java" >/dev/null 2>&1 ||
    refuse "Java is missing; install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless)"
version=$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p')
[ "${version:-0}" -ge 17 ] && [ "$version" -le 21 ] ||
    refuse "Java ${version:-of unknown version} does not fit Spark; install Java 17 or 21 and let JAVA_HOME point to it"
