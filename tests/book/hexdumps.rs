//! Code blocks with the bytes of a file.

use crate::pages::{Page, renews, root};

/// Compares the `hexdump` blocks of a page with the files that they name.
pub fn compare(page: Page, faults: &mut Vec<String>) {
    let mut renewed = Vec::new();
    for block in page.blocks().into_iter().filter(|block| block.language() == "hexdump") {
        let [_, file, offset, length] = block.words.as_slice() else {
            panic!("{}: {:?} is not `hexdump FILE OFFSET LENGTH`", page.path, block.words)
        };
        let bytes = std::fs::read(root().join(file)).unwrap_or_else(|error| panic!("{}: {file}: {error}", page.path));
        let number = |text: &str| text.parse::<usize>().expect("offset and length are numbers");
        let start = number(offset);
        let dump = dump(&bytes[start..start + number(length)], start);
        if dump == block.lines {
            continue;
        }
        match renews() {
            true => renewed.push((block.first_line..block.first_line + block.lines.len(), dump)),
            false => faults.push(format!("{}: {:?} shows\n{}", page.path, block.words, dump.join("\n"))),
        }
    }
    if !renewed.is_empty() {
        page.rewrite(renewed);
    }
}

/// Formats sixteen bytes per line: offset, bytes, and printable characters.
fn dump(bytes: &[u8], start: usize) -> Vec<String> {
    let line = |(row, bytes): (usize, &[u8])| {
        let words: Vec<String> =
            bytes.chunks(8).map(|word| word.iter().map(|byte| format!(" {byte:02x}")).collect()).collect();
        let text: String =
            bytes.iter().map(|byte| if matches!(byte, 0x20..=0x7e) { char::from(*byte) } else { '.' }).collect();
        format!("{:08x} {:<50} {text}", start + 16 * row, words.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

#[test]
fn a_dump_has_offsets_bytes_and_text() {
    assert_eq!(dump(b"ab\0", 16), ["00000010  61 62 00                                          ab."]);
}
