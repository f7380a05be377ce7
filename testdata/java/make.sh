#!/bin/sh
# Creates the recordings in this directory and their expected contents.
#
#   JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64 testdata/java/make.sh shapes-jdk17
#   JAVA_HOME=... JAVAC=/usr/bin/javac testdata/java/make.sh waits-jdk11
#   testdata/java/make.sh classes
#
# shapes-* are samples; waits-* are allocations, locks, reads and writes; calls-* are call counts (JDK 25). Needs JDK 11
# or later, python3 and gzip. JAVAC is for a runtime without a compiler. Samples differ between runs, so recording and
# expected contents are always created together.
set -eu
name=$1
here=$(cd "$(dirname "$0")" && pwd)
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$name" = classes ]; then
    # Classes for looking up method references; javac 17.
    "${bin}javac" -g:source,lines --release 8 -d "$work" "$here/Shapes.java"
    (cd "$work" && "${bin}jar" --create --no-manifest --date=2026-01-01T00:00:00Z --file "$here/Shapes.jar" ./*.class)
    cp "$work/Shapes.class" "$here/"
    exit
fi
javac=${JAVAC:-${bin}javac}
case $name in waits-*)
    "$javac" -g --release 8 -nowarn -d "$work" "$here/Waits.java"
    "${bin}java" -Xmx300m -XX:StartFlightRecording=filename="$work/out.jfr",settings="$here/events.jfc" -cp "$work" Waits
    events=ObjectAllocationInNewTLAB,ObjectAllocationOutsideTLAB,ObjectAllocationSample,JavaMonitorEnter,JavaMonitorWait
    events=$events,ThreadPark,SocketRead,SocketWrite,FileRead,FileWrite
    "${bin}jfr" print --json --stack-depth 100 --events "$events" "$work/out.jfr" |
        python3 "$here/expected_events.py" | gzip -9n > "$here/$name.expected.gz"
    gzip -9nc "$work/out.jfr" > "$here/$name.jfr.gz"
    exit
    ;;
esac
case $name in calls-*)
    "$javac" -g --release 8 -nowarn -d "$work" "$here/Calls.java"
    "${bin}java" -XX:StartFlightRecording=filename="$work/out.jfr",settings="$here/calls.jfc" -cp "$work" Calls
    "${bin}jfr" print --json --events MethodTrace,MethodTiming "$work/out.jfr" |
        python3 "$here/expected_calls.py" > "$here/$name.expected"
    gzip -9nc "$work/out.jfr" > "$here/$name.jfr.gz"
    exit
    ;;
esac
settings=$here/samples.jfc
if "${bin}java" -version 2>&1 | grep -q '"2[5-9]'; then
    # JDK 25 also samples by CPU time.
    sed 's#</configuration>#<event name="jdk.CPUTimeSample"><setting name="enabled">true</setting><setting name="throttle">10ms</setting></event></configuration>#' \
        "$settings" > "$work/samples.jfc"
    settings=$work/samples.jfc
fi
"$javac" -g --release 8 -nowarn -d "$work" "$here/Shapes.java"
"${bin}java" -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints \
    -XX:StartFlightRecording=filename="$work/out.jfr",settings="$settings" -cp "$work" Shapes "${2:-1}"
"${bin}jfr" print --json --stack-depth 100 --events 'ExecutionSample,NativeMethodSample,CPUTimeSample' "$work/out.jfr" |
    python3 "$here/expected_samples.py" | gzip -9n > "$here/$name.expected.gz"
gzip -9nc "$work/out.jfr" > "$here/$name.jfr.gz"
