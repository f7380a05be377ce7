#!/usr/bin/env bash
# Prints the section of CHANGELOG.md about a version, or the Unreleased section.
#
#   packaging/notes.sh VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?usage: packaging/notes.sh VERSION}
part() { awk -v title="## $1" 'index($0, title) == 1 { inside = 1; next } /^## / { inside = 0 } inside' CHANGELOG.md; }

notes=$(part "$version")
[ -n "$notes" ] || notes=$(part Unreleased)
if [ -z "$notes" ]; then
  echo "error: CHANGELOG.md has no section for $version and no Unreleased section" >&2
  exit 1
fi
# Without the empty line after the heading.
sed '/./,$!d' <<<"$notes"
