//! The tables against what runtimes and compilers write.

use super::*;

fn layout(version: u32, pointer: PointerWidth) -> RecordLayout {
    RecordLayout::new(Encoding { endian: Endian::Little, pointer, version })
}

#[test]
fn headers_have_the_sizes_of_their_versions() {
    let sizes: Vec<usize> = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11].into_iter().map(header_size).collect();
    assert_eq!(sizes, [56, 80, 80, 64, 80, 88, 88, 112, 128, 152]);
}

#[test]
fn header_offsets_match_the_runtimes() {
    use Word::*;
    let words = |version| header_words(version).collect::<Vec<_>>();
    assert_eq!(words(1), [NumData, NumCounters, NamesSize, CountersDelta, NamesDelta]);
    let v2 = [NumData, NumCounters, NamesSize, CountersDelta, NamesDelta, ValueKindLast, ValueDataSize, ValueDataDelta];
    assert_eq!(words(2), v2);
    assert_eq!(words(3), v2);
    assert_eq!(words(4), v2[..6]);
    let v5 = [
        NumData,
        PadBeforeCounters,
        NumCounters,
        PadAfterCounters,
        NamesSize,
        CountersDelta,
        NamesDelta,
        ValueKindLast,
    ];
    assert_eq!(words(5), v5);
    for version in [7, 8] {
        assert_eq!(words(version)[0], BinaryIdsSize);
        assert_eq!(words(version)[1..], v5);
    }
    assert_eq!(
        words(9),
        [
            BinaryIdsSize,
            NumData,
            PadBeforeCounters,
            NumCounters,
            PadAfterCounters,
            NumBitmapBytes,
            PadAfterBitmap,
            NamesSize,
            CountersDelta,
            BitmapDelta,
            NamesDelta,
            ValueKindLast
        ]
    );
    assert_eq!(
        words(10),
        [
            BinaryIdsSize,
            NumData,
            PadBeforeCounters,
            NumCounters,
            PadAfterCounters,
            NumBitmapBytes,
            PadAfterBitmap,
            NamesSize,
            CountersDelta,
            BitmapDelta,
            NamesDelta,
            NumVTables,
            VNamesSize,
            ValueKindLast
        ]
    );
    assert_eq!(
        words(11),
        [
            BinaryIdsSize,
            NumData,
            PadBeforeCounters,
            NumCounters,
            PadAfterCounters,
            NumBitmapBytes,
            PadAfterBitmap,
            NumUniformCounters,
            PadAfterUniformCounters,
            UniformCountersDelta,
            NamesSize,
            CountersDelta,
            BitmapDelta,
            NamesDelta,
            NumVTables,
            VNamesSize,
            ValueKindLast
        ]
    );
}

#[test]
fn records_have_the_sizes_of_their_versions() {
    // (version, 64 bits, 32 bits)
    let sizes = [
        (1, 32, 24),
        (2, 56, 40),
        (3, 48, 40),
        (4, 48, 40),
        (5, 48, 40),
        (7, 48, 40),
        (8, 48, 40),
        (9, 64, 48),
        (10, 64, 48),
        (11, 72, 56),
    ];
    for (version, wide, narrow) in sizes {
        assert_eq!(layout(version, PointerWidth::Bits64).size(), wide, "v{version}, 64 bits");
        assert_eq!(layout(version, PointerWidth::Bits32).size(), narrow, "v{version}, 32 bits");
    }
}

#[test]
fn field_offsets_match_the_compilers() {
    use Field::*;
    // (field, [(versions, offset at 64 bits, offset at 32 bits)])
    type Places = &'static [(RangeInclusive<u32>, usize, usize)];
    let rows: [(Field, Places); 15] = [
        (NameSize, &[(1..=2, 0, 0)]),
        (NameRef, &[(3..=11, 0, 0)]),
        (FuncHash, &[(1..=11, 8, 8)]),
        (NamePtr, &[(1..=2, 16, 16)]),
        (CounterPtr, &[(1..=2, 24, 20), (3..=11, 16, 16)]),
        (UniformCounterPtr, &[(11..=11, 24, 20)]),
        (BitmapPtr, &[(9..=10, 24, 20), (11..=11, 32, 24)]),
        (FunctionPtr, &[(2..=2, 32, 24), (3..=8, 24, 20), (9..=10, 32, 24), (11..=11, 40, 28)]),
        (ValuesPtr, &[(2..=2, 40, 28), (3..=8, 32, 24), (9..=10, 40, 28), (11..=11, 48, 32)]),
        (NumCounters, &[(1..=2, 4, 4), (3..=8, 40, 28), (9..=10, 48, 32), (11..=11, 56, 36)]),
        (NumValueSites0, &[(2..=2, 48, 32), (3..=8, 44, 32), (9..=10, 52, 36), (11..=11, 60, 40)]),
        (NumValueSites1, &[(3..=8, 46, 34), (9..=10, 54, 38), (11..=11, 62, 42)]),
        (NumValueSites2, &[(10..=10, 56, 40), (11..=11, 64, 44)]),
        (WaveSize, &[(11..=11, 66, 46)]),
        (NumBitmapBytes, &[(9..=9, 56, 40), (10..=10, 60, 44), (11..=11, 68, 48)]),
    ];
    for version in (OLDEST_VERSION..=NEWEST_VERSION).filter(|version| is_known_version(*version)) {
        for (field, places) in &rows {
            let place = places.iter().find(|(versions, _, _)| versions.contains(&version));
            let found = |pointer| layout(version, pointer).offset(*field);
            assert_eq!(found(PointerWidth::Bits64), place.map(|p| p.1), "v{version} {field:?}, 64 bits");
            assert_eq!(found(PointerWidth::Bits32), place.map(|p| p.2), "v{version} {field:?}, 32 bits");
        }
    }
}

#[test]
fn written_headers_read_back() {
    for version in (OLDEST_VERSION..=NEWEST_VERSION).filter(|version| is_known_version(*version)) {
        for pointer in [PointerWidth::Bits32, PointerWidth::Bits64] {
            for endian in [Endian::Little, Endian::Big] {
                let layout = RecordLayout::new(Encoding { endian, pointer, version });
                let record = DataRecord {
                    func_hash: 0x0102_0304_0506_0708,
                    counter_ptr: 0x99,
                    num_counters: 7,
                    ..DataRecord::default()
                };
                let mut bytes = vec![0; layout.size()];
                layout.write(&record, &mut bytes);
                assert_eq!(layout.read(&bytes), record, "v{version} {pointer:?} {endian:?}");
            }
        }
    }
}
