use super::*;
use crate::error::ErrorKind;
use crate::limits::Limits;
use proptest::prelude::*;
use std::io::{self, Read};

/// Returns content with repetitions, and parts that cannot be compressed.
fn content() -> Vec<u8> {
    (0..1500u32).flat_map(|number| format!("line {} {}\n", number % 97, number * number).into_bytes()).collect()
}

#[cfg(feature = "xz")]
fn xz(bytes: &[u8]) -> Vec<u8> {
    use lzma_rust2::{XzOptions, XzWriter};
    let mut options = XzOptions::with_preset(6);
    options.lzma_options.dict_size = 1 << 20;
    let mut writer = XzWriter::new(Vec::new(), options).unwrap();
    io::Write::write_all(&mut writer, bytes).unwrap();
    writer.finish().unwrap()
}

type Compress = fn(&[u8]) -> Vec<u8>;

/// Returns each compression that can be read, with a function that compresses.
fn readable() -> Vec<(Compression, Compress)> {
    vec![
        (Compression::Gzip, |bytes| Compression::Gzip.compress(bytes).unwrap()),
        #[cfg(feature = "zstd")]
        (Compression::Zstd, |bytes| Compression::Zstd.compress(bytes).unwrap()),
        #[cfg(feature = "xz")]
        (Compression::Xz, xz),
    ]
}

fn read(stream: &[u8]) -> Result<Vec<u8>> {
    decompress(stream, &Limits::default())
}

#[test]
fn file_extensions_select_the_compression_of_outputs() {
    let of = |name: &str| Compression::of_output(Path::new(name));
    for (name, compression) in [
        ("a.profdata", None),
        ("a.gz.profdata", None),
        ("gz", None),
        ("-", None),
        ("dir.xz/a.iprof", None),
        ("a.profdata.gz", Some(Compression::Gzip)),
        ("a.svgz", Some(Compression::Gzip)),
        #[cfg(feature = "zstd")]
        ("a.profdata.zst", Some(Compression::Zstd)),
    ] {
        assert_eq!(of(name).unwrap(), compression, "{name}");
    }
    for extension in ["xz", "bz2", "lz4", "zip", "Z", "lzma", "br"] {
        let error = of(&format!("a.profdata.{extension}")).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Usage { .. }));
        let message = format!("a.profdata.{extension}: cannot write compressed files with the extension .{extension}");
        assert_eq!(error.to_string(), message);
        assert!(error.hint().unwrap().to_string().starts_with("name the output .gz"), "{extension}");
    }
}

#[test]
fn uncompressed_names_lose_one_extension() {
    for (name, uncompressed) in [
        ("d/a.profdata.zst", "a.profdata"),
        ("a.svgz", "a.svg"),
        ("a.iprof.xz", "a.iprof"),
        ("a.gz.gz", "a.gz"),
        ("a.profdata", "a.profdata"),
        ("a", "a"),
    ] {
        assert_eq!(uncompressed_name(Path::new(name)), Some(uncompressed));
    }
    assert_eq!(uncompressed_name(Path::new("/")), None);
}

#[test]
fn compressing_gives_the_same_bytes_again() {
    for (compression, compress) in readable() {
        assert_eq!(compress(&content()), compress(&content()), "{compression}");
    }
    // The header contains neither a time nor a name.
    assert_eq!(Compression::Gzip.compress(b"content").unwrap()[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
}

proptest! {
    #[test]
    fn compressed_bytes_are_read_back(bytes in prop::collection::vec(prop_oneof![Just(b'a'), any::<u8>()], 0..2000)) {
        for (compression, compress) in readable() {
            let stream = compress(&bytes);
            prop_assert_eq!(Compression::of(&stream), Some(compression));
            prop_assert_eq!(&read(&stream).unwrap(), &bytes);
        }
    }

    #[test]
    fn damage_never_gives_other_bytes(at in any::<prop::sample::Index>(), bits in 1u8..) {
        let content = content();
        for (compression, compress) in readable() {
            let mut stream = compress(&content);
            let at = at.index(stream.len());
            stream[at] ^= bits;
            if Compression::of(&stream) == Some(compression) && let Ok(found) = read(&stream) {
                prop_assert!(found == content, "{} byte {}", compression, at);
            }
        }
    }
}

#[test]
fn members_and_frames_are_concatenated() {
    let both = [content(), content()].concat();
    for (compression, compress) in readable() {
        let stream = compress(&content());
        assert!(read(&stream.repeat(2)).unwrap() == both, "{compression}");
    }
}

#[cfg(feature = "xz")]
#[test]
fn padding_between_xz_streams_is_skipped() {
    let stream = xz(&content());
    assert!(read(&[&stream[..], &[0; 8], &stream, &[0; 4]].concat()).unwrap() == [content(), content()].concat());
}

#[cfg(feature = "zstd")]
#[test]
fn skippable_zstd_frames_are_skipped() {
    let stream = Compression::Zstd.compress(&content()).unwrap();
    let skippable = b"\x53\x2a\x4d\x18\x03\0\0\0abc";
    for parts in [[&skippable[..], &stream], [&stream, &skippable[..]]] {
        let whole = parts.concat();
        assert_eq!(Compression::of(&whole), Some(Compression::Zstd));
        assert!(read(&whole).unwrap() == content());
    }
}

#[test]
fn truncated_streams_are_errors_with_an_offset() {
    for (compression, compress) in readable() {
        let stream = compress(&content());
        for len in (8..stream.len()).step_by(97).chain(stream.len() - 9..stream.len()) {
            let error = read(&stream[..len]).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error.kind(), ErrorKind::UncompressFailed { .. }), "{compression}, {len}: {text}");
            let offset = text.rsplit_once("after byte 0x").unwrap().1;
            let offset = usize::from_str_radix(offset, 16).unwrap();
            assert!(offset <= len, "{compression}, {len}: {text}");
            assert!(error.hint().is_some());
        }
    }
}

#[test]
fn content_before_damage_is_read() {
    for (compression, compress) in readable() {
        let content: Vec<u8> =
            (0..200_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let stream = compress(&content);
        let opened = open(&stream[..stream.len() - 100], &Limits::default()).unwrap();
        assert_eq!(opened.compression, Some(compression));
        let mut found = Vec::new();
        assert!(opened.stream.take(1 << 20).read_to_end(&mut found).is_err());
        assert!(found.len() > content.len() / 2 && content.starts_with(&found), "{compression}: {} bytes", found.len());
    }
}

#[test]
fn content_is_bounded_by_ratio_and_size() {
    for (compression, compress) in readable() {
        let stream = compress(&vec![0; 1 << 20]);
        for limits in
            [Limits { inflate_ratio: 10, ..Limits::default() }, Limits { stream_bytes: 1000, ..Limits::default() }]
        {
            let error = decompress(&stream, &limits).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{compression}: {error}");
        }
        let limits = Limits { inflate_ratio: 1 << 16, ..Limits::default() };
        assert_eq!(decompress(&stream, &limits).unwrap().len(), 1 << 20, "{compression}");
    }
}

/// Returns a zstd frame with one byte of content and a window of the given size, as a logarithm.
#[cfg(feature = "zstd")]
fn zstd_with_window(log: u8) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3][..], b"\x09\0\0a"].concat()
}

#[cfg(feature = "zstd")]
#[test]
fn zstd_windows_are_bounded() {
    assert_eq!(read(&zstd_with_window(27)).unwrap(), b"a");
    for log in [28, 31, 41] {
        let error = read(&zstd_with_window(log)).unwrap_err();
        let expected = "cannot decompress: zstd: the window is larger than the limit of 134217728 bytes";
        assert_eq!(error.to_string(), expected, "{log}");
        assert!(error.hint().unwrap().to_string().contains("window-bytes"));
        assert_eq!(error.limit_name(), Some("window-bytes"));
    }
    let wide = Limits { window_bytes: 1 << 28, ..Limits::default() };
    assert_eq!(decompress(&zstd_with_window(28), &wide).unwrap(), b"a");
    let narrow = Limits { window_bytes: 0, ..Limits::default() };
    assert!(decompress(&zstd_with_window(11), &narrow).is_err());
}

#[cfg(feature = "xz")]
#[test]
fn xz_windows_are_bounded() {
    let stream = xz(&content());
    let with = |window_bytes| decompress(&stream, &Limits { window_bytes, ..Limits::default() });
    let error = with((1 << 20) - 1).unwrap_err();
    assert_eq!(error.to_string(), "cannot decompress: xz: the window is larger than the limit of 1048575 bytes");
    assert!(with(1 << 20).is_ok() && with(u64::MAX).is_ok());
}

#[test]
fn two_compressions_are_removed_and_no_more() {
    let gzip = |bytes: &[u8]| Compression::Gzip.compress(bytes).unwrap();
    for (compression, compress) in readable() {
        assert!(read(&compress(&gzip(&content()))).unwrap() == content(), "{compression}");
        assert!(read(&compress(&gzip(&gzip(&content())))).unwrap() == gzip(&content()), "{compression}");
    }
}

#[test]
fn compressions_without_a_decoder_are_named() {
    for (stream, name) in [(&b"BZh91AY&SY\x01\x02"[..], "bzip2"), (b"\x04\x22\x4d\x18\x60\x40\x82", "lz4")] {
        assert_eq!(Compression::of(stream).unwrap().name(), name);
        let error = read(stream).unwrap_err();
        assert_eq!(error.to_string(), format!("{name} is not supported"));
        assert_eq!(error.hint().unwrap().to_string(), "decompress the file first");
    }
}

/// Returns few bytes at a time, is interrupted before each read, and fails at its end.
struct Unsteady<'a> {
    bytes: &'a [u8],
    is_interrupted: bool,
    end: Option<io::ErrorKind>,
}

impl Read for Unsteady<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(7);
        match (self.bytes.read(&mut buffer[..len])?, self.end) {
            (0, Some(end)) => Err(end.into()),
            (read, _) => Ok(read),
        }
    }
}

#[test]
fn faults_of_the_source_are_not_damage() {
    for (compression, compress) in readable() {
        let stream = compress(&content());
        let read = |bytes, end| {
            let mut found = Vec::new();
            let opened = open(Unsteady { bytes, is_interrupted: false, end }, &Limits::default())?;
            { opened.stream }.read_to_end(&mut found).map(|_| found)
        };
        assert!(read(&stream, None).unwrap() == content(), "{compression}");
        let error = read(&stream[..stream.len() / 2], Some(io::ErrorKind::TimedOut)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{compression}: {error}");
        assert_eq!(read(&[], Some(io::ErrorKind::TimedOut)).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
