#!/usr/bin/env bash
# Checks every dependency with the rules in deny.toml: licences, sources, duplicates and known advisories. Without a
# copy of the advisory database, it prints a message and skips the advisories; --fetch downloads the newest copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! cargo deny --version >/dev/null 2>&1; then
  echo "cargo-deny is not installed: cargo install --locked cargo-deny" >&2
  exit 1
fi
if [ "${1:-}" = --fetch ]; then
  cargo deny check
  exit
fi
cargo deny --offline check bans licenses sources
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if cargo deny --offline check advisories 2>"$said"; then
  cat "$said" >&2
elif grep -qi 'advisory database\|advisory-db' "$said"; then
  echo "SKIPPED: no copy of the advisory database; packaging/deny.sh --fetch downloads it"
else
  cat "$said" >&2
  exit 1
fi
