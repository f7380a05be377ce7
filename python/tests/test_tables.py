"""Tables and columns: the libraries that take them, and that nothing is copied."""

from __future__ import annotations

import gc

import profbridge
from support import TESTDATA, TestCase, needs

TEXT = b":ir\nmain\n7\n3\n5\n0\n9\n\nsome\n9\n2\n0\n0\n\nf\n8\n1\n4\n"


def address(column: profbridge.Column) -> int:
    return int(column.__array_interface__["data"][0])


class Tables(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.profile = profbridge.read(TEXT)
        self.table = self.profile.functions()

    def test_rows_and_columns_are_there_without_a_library(self) -> None:
        table = self.table
        self.assertEqual((len(table), table.num_rows, table.num_columns), (3, 3, len(table.column_names)))
        self.assertEqual(table["name"].to_pylist(), ["main", "some", "f"])
        self.assertEqual(table["counters"].to_pylist(), [[5, 0, 9], [0, 0], [4]])
        self.assertEqual(table["num_covered"].to_pylist(), [2, 0, 1])
        self.assertEqual(table.row(-1)["total_count"], 4)
        self.assertEqual([row["max_count"] for row in table], [9, 0, 4])
        self.assertEqual(table.to_pydict()["func_hash"], [7, 9, 8])
        self.assertEqual(table["func_hash"][1:][0], 9)
        self.assertIn("name", table)
        with self.assertRaisesRegex(KeyError, "num_counters"):
            table["nothing"]
        with self.assertRaises(IndexError):
            table.row(3)
        with self.assertRaises(AttributeError):
            table["name"].__array_interface__

    def test_pseudo_counts_are_no_numbers(self) -> None:
        table = profbridge.read(b":ir\n:entry_first\nf\n1\n1\n18446744073709551615\n\ng\n1\n1\n5\n").functions()
        self.assertEqual(table["pseudo_count"].to_pylist(), ["hot", None])
        self.assertEqual(table["entry_count"].to_pylist(), [None, 5])
        with self.assertRaises(AttributeError):
            table["entry_count"].__array_interface__

    def test_a_profile_without_functions_has_an_empty_table(self) -> None:
        table = profbridge.read(b":ir\n").functions()
        self.assertEqual((len(table), table["name"].to_pylist(), list(table)), (0, [], []))

    def test_a_filter_leaves_rows_out(self) -> None:
        profile = profbridge.merge([TEXT], function="^f$")
        self.assertEqual(profile.functions()["name"].to_pylist(), ["f"])
        self.assertEqual([record.name for record in profile.records()], ["f"])

    def test_numpy_shares_the_memory_and_keeps_it(self) -> None:
        numpy = needs("numpy")
        counters = self.profile.find("main")[0].counters
        array = numpy.asarray(counters)
        self.assertEqual((array.dtype, array.tolist()), (numpy.uint64, [5, 0, 9]))
        self.assertEqual(array.__array_interface__["data"][0], address(counters))
        self.assertFalse(array.flags.writeable)
        del counters, self.profile, self.table
        gc.collect()
        self.assertEqual(array.tolist(), [5, 0, 9])
        self.assertEqual(numpy.asarray(profbridge.read(TEXT).functions()["func_hash"]).tolist(), [7, 9, 8])

    def test_arrow_shares_the_memory_and_keeps_it(self) -> None:
        pyarrow = needs("pyarrow")
        table = pyarrow.table(self.table)
        self.assertEqual(table["counters"].to_pylist(), [[5, 0, 9], [0, 0], [4]])
        [chunk] = table["counters"].chunks
        self.assertEqual(chunk.values.buffers()[1].address, address(self.profile.find("main")[0].counters))
        # Records are consecutive in one block of memory.
        self.assertEqual(address(self.profile.find("f")[0].counters), chunk.values.buffers()[1].address + 40)
        del self.profile, self.table, chunk
        gc.collect()
        self.assertEqual(table["counters"].to_pylist(), [[5, 0, 9], [0, 0], [4]])
        column = pyarrow.array(profbridge.read(TEXT).find("main")[0].counters)
        self.assertEqual(column.to_pylist(), [5, 0, 9])

    def test_many_counters_are_several_batches_of_one_table(self) -> None:
        pyarrow = needs("pyarrow")
        functions = 3000
        text = b":ir\n" + b"".join(
            b"f%d\n%d\n%d\n%s\n" % (n, n, n % 7 + 1, b"".join(b"%d\n" % (n + m) for m in range(n % 7 + 1)))
            for n in range(1, functions)
        )
        profile = profbridge.read(text)
        table = pyarrow.table(profile.functions())
        table.validate(full=True)
        expected = [[n + m for m in range(n % 7 + 1)] for n in range(1, functions)]
        self.assertEqual(table["counters"].to_pylist(), expected)
        self.assertGreater(table["counters"].num_chunks, 1)
        self.assertEqual(table["name"].to_pylist(), [f"f{n}" for n in range(1, functions)])
        addresses = {chunk.values.buffers()[1].address for chunk in table["counters"].chunks}
        self.assertIn(address(profile.find("f1")[0].counters), addresses)
        chunks = profile.functions()["counters"].chunks
        self.assertEqual([values for chunk in chunks for values in chunk.to_pylist()], expected)
        with self.assertRaises(BufferError):
            profile.functions().__arrow_c_array__()

    def test_pandas_polars_and_duckdb_take_a_table(self) -> None:
        table = self.table
        pandas = needs("pandas")
        frame = pandas.DataFrame.from_arrow(table) if hasattr(pandas.DataFrame, "from_arrow") else None
        if frame is None:
            frame = needs("pyarrow").table(table).to_pandas()
        self.assertEqual(frame.loc[frame["total_count"].idxmax(), "name"], "main")
        polars = needs("polars")
        self.assertEqual(polars.DataFrame(table)["total_count"].sum(), 18)
        duckdb = needs("duckdb")
        functions = table
        found = duckdb.sql("select name from functions where total_count > 4")
        self.assertIsNotNone(functions)
        self.assertEqual(found.fetchall(), [("main",)])

    def test_every_table_of_every_family_is_valid_arrow(self) -> None:
        pyarrow = needs("pyarrow")
        iprof = profbridge.read(TESTDATA / "iprof" / "fibonacci.iprof")
        sample = profbridge.read(b"foo:10:1\n 1: 5\n 2: bar:5\n  1: 5\n")
        stacks = profbridge.read(b"main;f 3\nmain;g 4\n")
        memory = profbridge.read(sorted((TESTDATA / "memprof").glob("*.yaml"))[0])
        tables = [
            self.profile.value_sites(),
            iprof.functions(),
            iprof.entries(),
            sample.functions(),
            sample.lines(),
            stacks.functions(),
            stacks.samples(),
            memory.allocations(),
        ]
        for made in tables:
            table = pyarrow.table(made)
            table.validate(full=True)
            self.assertEqual(table.to_pylist(), list(made), made)
        self.assertEqual(stacks.samples().to_pydict()["stack"], [["f", "main"], ["g", "main"]])
        self.assertEqual(sample.lines()["inlined"].to_pylist(), [None, "2: bar"])
        self.assertEqual(sample.functions()["total_samples"].to_pylist(), [10])
        entries = list(iprof.entries())
        self.assertEqual(sum(row["events"] for row in entries), 122)
        monitors = [row for row in entries if row["section"] == "monitorProfiles"]
        nothing = {"method": "", "bci": 0, "context": "", "depth": 0}
        self.assertEqual(monitors, [{"section": "monitorProfiles", **nothing, "events": 25}])
