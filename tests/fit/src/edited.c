/* A program and, with EDITED, its next version. C and C++ alike. */
#ifdef EDITED
#define VERSION(before, after) after
#else
#define VERSION(before, after) before
#endif
#define KEPT __attribute__((noinline))

KEPT static int local_same(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    if (i % 3)
      s += i;
  return s;
}

KEPT static int local_edited(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    VERSION(, if (i & 4))
    s ^= i;
  }
  return s;
}

/* Other constants are no other control flow. */
KEPT int other_constants(int n) {
  int s = VERSION(3, 77);
  while (n-- > 0)
    s = s * VERSION(5, 9) + 1;
  return s;
}

KEPT int global_edited(int n) {
  switch (n) {
  case 1:
    return 5;
  case 2:
    return 8;
    VERSION(, case 3 : return 11;)
  case 70:
    return 2;
  }
  return 0;
}

#ifndef EDITED
KEPT int only_before(int n) {
  if (n > 3)
    return n * 2;
  return 1;
}
#else
KEPT int only_after(int n) {
  do {
    if (n > 9 && n < 20)
      return n;
  } while (n-- > 0);
  return 1;
}
#endif

KEPT int VERSION(count_the_old_things, count_the_new_things)(int n) {
  int s = 1;
  while (n-- > 0)
    if (n % 2)
      s *= 3;
    else if (n % 5)
      s += 2;
  return s;
}

KEPT VERSION(static, ) int first_local_then_global(int n) {
  int s = 0;
  for (; n > 0; n -= 2)
    for (int k = 0; k < 3; k++)
      s += k ^ n;
  return s;
}

KEPT int never_called(int n) { return n > 1 ? n : -n; }

/* So many branches that the hash of the front end has 64 bits. */
#define MANY(n, s)                                                                                                     \
  if ((n) & 1)                                                                                                         \
    s += 1;                                                                                                            \
  if ((n) & 2)                                                                                                         \
    s += 2;                                                                                                            \
  if ((n) & 4)                                                                                                         \
    s += 4;                                                                                                            \
  if ((n) & 8)                                                                                                         \
    s += 8;

KEPT int large_same(int n) {
  int s = 0;
  MANY(n, s)
  MANY(n / 3, s)
  MANY(n / 7, s)
  MANY(n / 11, s)
  return s;
}

KEPT int large_same_too(int n) {
  int s = 1;
  MANY(n, s)
  for (int i = 0; i < n; i++) {
    MANY(n / 3, s)
  }
  MANY(n / 11, s)
  return s;
}

KEPT int large_edited(int n) {
  int s = 0;
  MANY(n, s)
  MANY(n / 3, s)
  VERSION(, while (s > n) s -= 3;)
  MANY(n / 7, s)
  MANY(n / 11, s)
  return s;
}

#ifdef __cplusplus
template <typename T> KEPT T in_a_comdat(T n) {
  T s = 0;
  for (T i = 0; i < n; i++)
    s += i VERSION(, % 3 ? i : 1);
  return s;
}
template <typename T> KEPT T same_in_a_comdat(T n) {
  T s = 0;
  for (T i = 0; i < n; i++)
    s += i;
  return s;
}
#define MORE in_a_comdat<int>, same_in_a_comdat<int>,
#else
#define MORE
#endif

typedef int (*function)(int);

int main(void) {
  function all[] = {local_same,
                    local_edited,
                    other_constants,
                    global_edited,
                    VERSION(only_before, only_after),
                    VERSION(count_the_old_things, count_the_new_things),
                    first_local_then_global,
                    large_same,
                    large_same_too,
                    MORE large_edited};
  int s = 0;
  for (int i = 0; i < 300; i++)
    s += all[i % (int)(sizeof(all) / sizeof(all[0]))](i % 40);
  return s == 1 ? never_called(s) : 0;
}
