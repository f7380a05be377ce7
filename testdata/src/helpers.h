/* `same` has one body in every image that includes this, `differs` does not. */
__attribute__((noinline)) static inline int low_bits(int value) { return value & 3; }

__attribute__((noinline, visibility("hidden"))) int same(int value) {
  return value > 2 ? low_bits(value) : value;
}

__attribute__((noinline, visibility("hidden"))) int differs(int value) {
#ifdef PLUGIN
  if (value > 1)
    for (int i = 0; i < 3; i++)
      value += same(i);
#endif
  return value;
}
