//! Arrow arrays of a table: compared, joined, and sent to other processes.

use crate::table::{internal, of_numbers};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, LargeListArray, LargeStringArray, PrimitiveArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::{ArrowError, DataType, Field};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// The chunks of a column.
type Chunks<'a> = &'a [ArrayRef];

/// Returns true if columns have the same values, whatever their chunks.
pub(crate) fn are_equal(one: Chunks<'_>, other: Chunks<'_>) -> bool {
    let len = |chunks: Chunks<'_>| chunks.iter().map(|chunk| chunk.len()).sum::<usize>();
    if len(one) != len(other) {
        return false;
    }
    let mut others = other.iter().filter(|chunk| !chunk.is_empty());
    let (mut current, mut used) = (others.next(), 0);
    for chunk in one {
        let mut done = 0;
        while done < chunk.len() {
            let Some(other) = current else { return false };
            let count = (chunk.len() - done).min(other.len() - used);
            if chunk.slice(done, count) != other.slice(used, count) {
                return false;
            }
            (done, used) = (done + count, used + count);
            if used == other.len() {
                (current, used) = (others.next(), 0);
            }
        }
    }
    true
}

/// Joins the chunks of a column of numbers or strings. Returns `None` for lists.
pub(crate) fn join(kind: &DataType, chunks: Chunks<'_>) -> Option<ArrayRef> {
    match (chunks, kind) {
        ([], _) => Some(arrow_array::new_empty_array(kind)),
        ([one], _) => Some(one.clone()),
        (_, DataType::LargeUtf8) => {
            let mut joined = LargeStringBuilder::new();
            chunks.iter().for_each(|chunk| chunk.as_string::<i64>().iter().for_each(|text| joined.append_option(text)));
            Some(Arc::new(joined.finish()))
        }
        _ => of_numbers!(kind, join_numbers(chunks)),
    }
}

fn join_numbers<T: ArrowPrimitiveType>(chunks: Chunks<'_>) -> ArrayRef {
    let numbers = chunks.iter().flat_map(|chunk| chunk.as_primitive::<T>().iter());
    Arc::new(numbers.collect::<PrimitiveArray<T>>())
}

/// Returns an array for another process: its type, the number of values, the missing ones, and the memory of the values.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn encode<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).into_any();
    let valid = array.nulls().map(|nulls| nulls.iter().map(u8::from).collect::<Vec<u8>>());
    let (offsets, values) = match array.data_type() {
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            let (from, offsets) = offsets_of(texts.offsets());
            let len = usize::try_from(offsets.last().copied().unwrap_or(0)).unwrap_or(0);
            (offsets, bytes(&texts.values()[from..from + len]))
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let (from, offsets) = offsets_of(lists.offsets());
            let len = usize::try_from(offsets.last().copied().unwrap_or(0)).unwrap_or(0);
            (offsets, encode(py, &lists.values().slice(from, len))?.into_any())
        }
        kind => match of_numbers!(kind, numbers_of(array)) {
            Some(numbers) => (Vec::new(), bytes(&numbers)),
            None => return Err(internal(ArrowError::NotYetImplemented(format!("a pickle of {kind}")))),
        },
    };
    let offsets: Vec<u8> = offsets.into_iter().flat_map(i64::to_le_bytes).collect();
    let valid = valid.map(|valid| PyBytes::new(py, &valid));
    (kind_word(array.data_type()), array.len(), valid, bytes(&offsets), values).into_pyobject(py)
}

/// A list whose items may be missing; a string in a pickle.
const LIST_OF_OPTIONAL: &str = "List?";

fn kind_word(kind: &DataType) -> String {
    match kind {
        DataType::LargeList(item) if item.is_nullable() => LIST_OF_OPTIONAL.to_string(),
        DataType::LargeList(_) => "List".to_string(),
        kind => kind.to_string(),
    }
}

/// Returns the start of the first value, and the offsets relative to it.
fn offsets_of(offsets: &OffsetBuffer<i64>) -> (usize, Vec<i64>) {
    let first = offsets.first();
    (usize::try_from(first).unwrap_or(0), offsets.iter().map(|offset| offset - first).collect())
}

fn numbers_of<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<u8> {
    array.as_primitive::<T>().values().iter().flat_map(|number| number.to_byte_slice().to_vec()).collect()
}

/// Returns the array of [`encode`].
///
/// # Errors
///
/// `ValueError` for anything else.
pub(crate) fn decode(encoded: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    type Encoded<'py> = (String, usize, Option<Vec<u8>>, Vec<u8>, Bound<'py, PyAny>);
    let (kind, len, valid, offsets, values): Encoded<'_> = encoded.extract()?;
    let damaged = || PyValueError::new_err("the pickle of a table is damaged");
    let nulls = valid.map(|valid| valid.iter().map(|valid| *valid != 0).collect::<NullBuffer>());
    let is_fit = nulls.as_ref().is_none_or(|nulls| nulls.len() == len);
    let offsets: Vec<i64> = offsets.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
    let is_sorted = offsets.is_sorted() && offsets.first().is_none_or(|first| *first == 0);
    if !is_fit || !is_sorted || (!offsets.is_empty() && offsets.len() != len + 1) {
        return Err(damaged());
    }
    let array: Option<ArrayRef> = match kind.as_str() {
        "LargeUtf8" if !offsets.is_empty() => {
            let offsets = OffsetBuffer::new(offsets.into());
            let texts = LargeStringArray::try_new(offsets, Buffer::from_vec(values.extract::<Vec<u8>>()?), nulls);
            Some(Arc::new(texts.map_err(|_| damaged())?))
        }
        _ if !offsets.is_empty() => {
            let items = decode(&values)?;
            let field = Arc::new(Field::new("item", items.data_type().clone(), kind == LIST_OF_OPTIONAL));
            let lists = LargeListArray::try_new(field, OffsetBuffer::new(offsets.into()), items, nulls);
            Some(Arc::new(lists.map_err(|_| damaged())?))
        }
        name => {
            let known = [DataType::UInt64, DataType::UInt32, DataType::Int64, DataType::Int32, DataType::Float64];
            let kind = known.into_iter().find(|kind| kind.to_string() == name).ok_or_else(damaged)?;
            let bytes: Vec<u8> = values.extract()?;
            of_numbers!(&kind, numbers_from(&bytes, len, nulls)).flatten()
        }
    };
    array.ok_or_else(damaged)
}

fn numbers_from<T: ArrowPrimitiveType>(bytes: &[u8], len: usize, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
    if len.checked_mul(size_of::<T::Native>()) != Some(bytes.len()) {
        return None;
    }
    let aligned = Buffer::from(bytes);
    Some(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(aligned, 0, len), nulls)))
}
