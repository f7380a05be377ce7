#!/usr/bin/env bash
# Creates docs/report.png, the screenshot of a report in README.md.
#
#   docs/report.sh [PROGRAM]     needs chromium and pngquant
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:-target/release/profbridge}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$program" report testdata/stacks/web.collapsed -o "$scratch/report.html"
# The flags prevent network access of the browser.
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="$scratch/browser" --hide-scrollbars \
  --window-size=1000,800 --screenshot="$scratch/report.png" "file://$scratch/report.html" 2>/dev/null
pngquant --force --strip --speed 1 --output docs/report.png 32 "$scratch/report.png"
ls -l docs/report.png
