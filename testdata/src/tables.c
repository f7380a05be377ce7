/* A second object of one program: its names are a chunk of their own. */
int table_lookup(int key) {
  static const int values[] = {5, 3, 1};
  return key >= 0 && key < 3 ? values[key] : -1;
}

int table_unused(int key) { return table_lookup(key) + 1; }
