# Makes the inputs of benches/guard.sh in `folder`: the same bytes everywhere.

# Numbers that awk holds exactly, whichever it is.
function random(below) {
  seed = (seed * 16807) % 2147483647
  return seed % below
}

# Small counts most often, as programs have them.
function count_of_calls() {
  kind = random(10)
  if (kind < 4) return 0
  if (kind < 7) return 1 + random(9)
  return kind < 9 ? random(5000) : random(100000000)
}

function function_name(at) { return sprintf("_ZN7example%dmodule%d8function%dEv", at % 7, at % 97, at) }

# Indirect calls: most sites meet few targets, some many.
function sites(out,    site, targets, at) {
  print "# Num Value Kinds:\n1\n# ValueKind = IPVK_IndirectCallTarget:\n0\n# NumValueSites:\n2" > out
  for (site = 0; site < 2; site++) {
    targets = random(20) == 0 ? 30 + random(200) : random(6)
    print targets > out
    for (at = 0; at < targets; at++) print function_name((at * 13 + random(3) + site) % FUNCTIONS) ":" 1 + random(9000) > out
  }
}

# A run of one program: what its functions are does not depend on the run.
function instrumented(run,    out, at, counters) {
  out = folder "/" run ".proftext"
  print ":ir" > out
  for (at = 0; at < FUNCTIONS; at++) {
    counters = 1 + at * 7 % 11
    print function_name(at) "\n" 1000 + at "\n" counters > out
    while (counters--) print count_of_calls() > out
    if (at % 4 == 1) sites(out)
    print "" > out
  }
  close(out)
}

function sampled(    out, at, line) {
  out = folder "/1.prof"
  for (at = 0; at < FUNCTIONS / 2; at++) {
    print function_name(at) ":" 100000 + random(100000) ":" random(900) > out
    for (line = 1; line < 9; line++) print " " line ": " random(9000) (line % 3 ? "" : " " function_name(random(FUNCTIONS)) ":" random(900)) > out
    print " 9: " function_name((at * 31 + 1) % FUNCTIONS) ":400\n  1: 300\n  2.1: 100" > out
  }
  close(out)
}

function contexts(out, section, number,    at, depth, frames) {
  printf ",\"%s\":[", section > out
  for (at = 0; at < number; at++) {
    # Each context once.
    frames = at % METHODS ":0<" at * 7 % METHODS ":" int(at / METHODS)
    for (depth = random(section == "samplingProfiles" ? 20 : 4); depth > 0; depth--) frames = frames "<" random(METHODS) ":" random(90)
    printf "%s{\"ctx\":\"%s\",\"records\":[%d]}", at ? "," : "", frames, 1 + random(9000) > out
  }
  printf "]" > out
}

function native_image(    out, at) {
  out = folder "/1.iprof"
  printf "{\"version\":\"1.0.0\",\"types\":[" > out
  for (at = 0; at < TYPES; at++) printf "%s{\"id\":%d,\"name\":\"org.example.package%d.Class%d\"}", at ? "," : "", at, at % 11, at > out
  printf "],\"methods\":[" > out
  for (at = 0; at < METHODS; at++) printf "%s{\"id\":%d,\"name\":\"method%d\",\"signature\":[%d,%d]}", at ? "," : "", at, at, random(TYPES), random(TYPES) > out
  printf "]" > out
  contexts(out, "callCountProfiles", 4000)
  contexts(out, "samplingProfiles", 2000)
  print "}" > out
  close(out)
}

function stacks(    out, at, depth, line) {
  out = folder "/1.collapsed"
  for (at = 0; at < 1000; at++) {
    line = "main"
    for (depth = 3 + random(20); depth > 0; depth--) line = line ";org.example.Class" random(3) ".method" random(2)
    print line, 1 + random(90) > out
  }
  close(out)
}

BEGIN {
  FUNCTIONS = 4000; TYPES = 500; METHODS = 2000
  seed = 20261122
  for (run = 1; run <= 3; run++) instrumented(run)
  sampled()
  native_image()
  stacks()
}
