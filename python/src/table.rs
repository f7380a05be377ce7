//! Tables and columns with Arrow's interface, which all data frame libraries can read.

use crate::arrays;
use crate::error::usage;
use crate::state::{Reduced, function};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyIndexError, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PySlice, PyTuple};
use std::sync::Arc;

/// Calls a function for the type of a column's numbers; `None` for other columns.
macro_rules! of_numbers {
    ($kind:expr, $function:ident($($argument:expr),*)) => {
        match $kind {
            DataType::UInt64 => Some($function::<UInt64Type>($($argument),*)),
            DataType::UInt32 => Some($function::<UInt32Type>($($argument),*)),
            DataType::Int64 => Some($function::<Int64Type>($($argument),*)),
            DataType::Int32 => Some($function::<Int32Type>($($argument),*)),
            DataType::Float64 => Some($function::<Float64Type>($($argument),*)),
            _ => None,
        }
    };
}
pub(crate) use of_numbers;

/// The names of the columns, and the columns of each batch.
type Parts<'py> = (Vec<String>, Vec<Bound<'py, PyTuple>>);

/// Rows in named columns.
///
/// A table is an Arrow table, which pandas, polars, pyarrow and duckdb read without a copy. `table["name"]` is a column,
/// `table[0]` a row, `table[10:20]` a table, and iterating returns rows as dictionaries.
#[pyclass(frozen, generic, module = "profbridge", name = "Table")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The first columns as one array each, if there are several batches.
    whole: Vec<ArrayRef>,
}

impl Table {
    /// Creates a table of batches with this schema. `whole` has the first columns as one array each.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>, whole: Vec<ArrayRef>) -> Self {
        Self { schema, batches, whole }
    }

    /// Creates a table with one batch.
    pub(crate) fn of_columns(columns: Vec<(&str, ArrayRef)>) -> Result<Self, ArrowError> {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))?;
        Ok(Self { schema: batch.schema(), batches: vec![batch], whole: Vec::new() })
    }

    fn column(&self, name: &str) -> PyResult<Column> {
        let Ok(at) = self.schema.index_of(name) else {
            return Err(PyKeyError::new_err(format!("{name}; columns: {}", self.column_names().join(", "))));
        };
        let chunks = match self.whole.get(at) {
            Some(whole) => vec![whole.clone()],
            None => self.batches.iter().map(|batch| batch.column(at).clone()).collect(),
        };
        Ok(Column { kind: self.schema.field(at).data_type().clone(), chunks })
    }

    fn slice(&self, start: usize, len: usize) -> Self {
        let (mut skip, mut left) = (start, len);
        let mut batches = Vec::new();
        for batch in &self.batches {
            let from = skip.min(batch.num_rows());
            let rows = left.min(batch.num_rows() - from);
            (skip, left) = (skip - from, left - rows);
            if rows > 0 {
                batches.push(batch.slice(from, rows));
            }
        }
        let whole = self.whole.iter().map(|column| column.slice(start, len)).collect();
        Self { schema: self.schema.clone(), batches, whole }
    }
}

/// Returns the error for data that is not contiguous in memory.
fn in_pieces(what: &str, pieces: usize, instead: &str) -> PyErr {
    PyBufferError::new_err(format!("the {what} has {pieces} chunks; use {instead}"))
}

/// Converts an error of Arrow, which is always a fault of this package.
pub(crate) fn internal(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(format!("profbridge: {error}"))
}

#[pymethods]
impl Table {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows; the same as `len(table)`.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.schema.fields().len()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    /// A column by name, a row by number, or the rows of a slice.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, table) = (slf.py(), slf.get());
        if let Ok(name) = key.extract::<String>() {
            return table.column(&name)?.into_bound_py_any(py);
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            let bounds = slice.indices(table.num_rows() as isize)?;
            if bounds.step != 1 {
                return Err(usage(py, "tables cannot be sliced with a step"));
            }
            return table.slice(bounds.start as usize, bounds.slicelength).into_bound_py_any(py);
        }
        table.row(py, key.extract()?)?.into_bound_py_any(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        let (names, other) = (self.column_names(), other.get());
        names == other.column_names()
            && names.iter().all(|name| match (self.column(name), other.column(name)) {
                (Ok(one), Ok(other)) => one.kind == other.kind && arrays::are_equal(&one.chunks, &other.chunks),
                _ => false,
            })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Parts<'py>>> {
        let batch = |batch: &RecordBatch| {
            let columns = batch.columns().iter().map(|column| arrays::encode(py, column));
            PyTuple::new(py, columns.collect::<PyResult<Vec<_>>>()?)
        };
        let none = RecordBatch::new_empty(self.schema.clone());
        let batches = if self.batches.is_empty() { std::slice::from_ref(&none) } else { &self.batches };
        Ok((function(py, "restore_table")?, (self.column_names(), batches.iter().map(batch).collect::<PyResult<_>>()?)))
    }

    fn __contains__(&self, name: &str) -> bool {
        self.schema.index_of(name).is_ok()
    }

    /// One row as a dictionary.
    ///
    /// Parameters
    /// ----------
    /// index : int
    ///     The number of the row; negative numbers count from the end.
    ///
    /// Returns
    /// -------
    /// dict
    fn row<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyDict>> {
        let (batch, at) = place(index, self.batches.iter().map(RecordBatch::num_rows))?;
        row(py, &self.batches[batch], at)
    }

    fn __iter__(slf: Py<Self>) -> Rows {
        Rows { table: slf, batch: 0, row: 0 }
    }

    /// All columns.
    ///
    /// Returns
    /// -------
    /// dict of list
    ///     The values of each column by its name.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.column_names() {
            let column = self.column(&name)?;
            all.set_item(name, column.to_pylist(py)?)?;
        }
        Ok(all)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.Table of {} rows: {}>", self.num_rows(), self.column_names().join(", "))
    }

    /// The schema, by Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, FFI_ArrowSchema::try_from(self.schema.as_ref()))
    }

    /// All batches, by Arrow's PyCapsule interface. Nothing is copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The requested schema is only a wish that a producer may ignore.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The table as one Arrow array of structs, if it has one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        match self.batches.as_slice() {
            [batch] => export(py, &StructArray::from(batch.clone())),
            [] => export(py, &StructArray::from(RecordBatch::new_empty(self.schema.clone()))),
            several => Err(in_pieces("table", several.len(), "__arrow_c_stream__")),
        }
    }
}

/// An iterator over the rows of a table, one dictionary each.
#[pyclass(module = "profbridge")]
struct Rows {
    table: Py<Table>,
    batch: usize,
    row: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let table = self.table.get();
        while let Some(batch) = table.batches.get(self.batch) {
            if self.row < batch.num_rows() {
                self.row += 1;
                return row(py, batch, self.row - 1).map(Some);
            }
            (self.batch, self.row) = (self.batch + 1, 0);
        }
        Ok(None)
    }
}

/// Restore a pickled table.
#[pyfunction]
pub(crate) fn restore_table(names: Vec<String>, batches: Vec<Vec<Bound<'_, PyAny>>>) -> PyResult<Table> {
    let batches = batches.iter().map(|columns| {
        let columns = columns.iter().map(arrays::decode).collect::<PyResult<Vec<_>>>()?;
        let columns = names.iter().zip(columns).map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).map_err(internal)
    });
    let batches = batches.collect::<PyResult<Vec<_>>>()?;
    let Some(first) = batches.first() else { return Err(PyValueError::new_err("the pickle of a table is damaged")) };
    let whole = match batches.len() {
        1 => Vec::new(),
        _ => {
            let kinds = first.schema();
            let columns = kinds.fields().iter().enumerate().map(|(at, field)| {
                let chunks: Vec<ArrayRef> = batches.iter().map(|batch| batch.column(at).clone()).collect();
                arrays::join(field.data_type(), &chunks)
            });
            columns.map_while(|column| column).collect()
        }
    };
    Ok(Table::new(first.schema(), batches, whole))
}

/// Values of one type.
///
/// Columns of numbers share their memory with NumPy and Arrow. The counters of a large profile have several chunks; all
/// other columns have one.
#[pyclass(frozen, module = "profbridge", name = "Column")]
pub(crate) struct Column {
    kind: DataType,
    chunks: Vec<ArrayRef>,
}

impl Column {
    /// Creates a column with one chunk.
    pub(crate) fn of(array: ArrayRef) -> Self {
        Self { kind: array.data_type().clone(), chunks: vec![array] }
    }

    fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Returns the only chunk.
    fn whole(&self) -> Option<&ArrayRef> {
        if let [one] = self.chunks.as_slice() { Some(one) } else { None }
    }

    fn one_piece(&self) -> PyResult<ArrayRef> {
        match self.chunks.as_slice() {
            [one] => Ok(one.clone()),
            [] => Ok(arrow_array::new_empty_array(&self.kind)),
            several => Err(in_pieces("column", several.len(), "chunks")),
        }
    }
}

#[pymethods]
impl Column {
    /// The type of the values, with Arrow's name.
    #[getter]
    fn r#type(&self) -> String {
        self.kind.to_string()
    }

    /// The chunks of memory, each as a column.
    #[getter]
    fn chunks(&self) -> Vec<Self> {
        self.chunks.iter().cloned().map(Self::of).collect()
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let bounds = slice.indices(self.len() as isize)?;
            if bounds.step != 1 {
                return Err(usage(py, "columns cannot be sliced with a step"));
            }
            let mut skip = bounds.start as usize;
            let mut left = bounds.slicelength;
            let mut chunks = Vec::new();
            for chunk in &self.chunks {
                let from = skip.min(chunk.len());
                let len = left.min(chunk.len() - from);
                (skip, left) = (skip - from, left - len);
                if len > 0 {
                    chunks.push(chunk.slice(from, len));
                }
            }
            return Self { kind: self.kind.clone(), chunks }.into_bound_py_any(py);
        }
        let (chunk, at) = place(index.extract()?, self.chunks.iter().map(|chunk| chunk.len()))?;
        value(py, &self.chunks[chunk], at)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        let other = other.get();
        self.kind == other.kind && arrays::are_equal(&self.chunks, &other.chunks)
    }

    /// The values as a NumPy array.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     Numbers without a copy if the column has one chunk. Numbers with missing values become float64 with NaN,
    ///     strings and lists become objects.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, column) = (slf.py(), slf.get());
        let numpy = py.import("numpy")?;
        let has_missing = column.chunks.iter().any(|chunk| chunk.null_count() > 0);
        if column.kind.is_numeric() && !has_missing {
            let Some(joined) = arrays::join(&column.kind, &column.chunks) else { return Err(missing(&column.kind)) };
            return numpy.call_method1("asarray", (Self::of(joined).into_bound_py_any(py)?,));
        }
        let options = PyDict::new(py);
        let values = column.to_pylist(py)?;
        if column.kind.is_numeric() {
            options.set_item("dtype", "float64")?;
            return numpy.call_method("array", (values,), Some(&options));
        }
        // One by one, because lists of one length would become a matrix.
        options.set_item("dtype", "object")?;
        let array = numpy.call_method("empty", (column.len(),), Some(&options))?;
        for (at, value) in values.iter().enumerate() {
            array.set_item(at, value)?;
        }
        Ok(array)
    }

    /// The values as a NumPy array, for `numpy.asarray`.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // NumPy copies the result itself if it has to.
        let _ = copy;
        let array = Self::to_numpy(slf)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// All values.
    ///
    /// Returns
    /// -------
    /// list
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for chunk in &self.chunks {
            for at in 0..chunk.len() {
                list.append(value(py, chunk, at)?)?;
            }
        }
        Ok(list)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.Column of {} {}>", self.len(), self.kind)
    }

    /// The numbers in place, with NumPy's array interface. Nothing is copied.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let none = || missing(&self.kind);
        let array = self.whole().cloned().ok_or_else(none)?;
        if array.null_count() > 0 {
            return Err(PyAttributeError::new_err("a column with missing values has no array interface"));
        }
        let (address, size) = of_numbers!(&self.kind, address(&array)).ok_or_else(none)?;
        let letter = match &self.kind {
            kind if kind.is_floating() => 'f',
            kind if kind.is_signed_integer() => 'i',
            _ => 'u',
        };
        let order = if cfg!(target_endian = "little") { '<' } else { '>' };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (array.len(),))?;
        interface.set_item("typestr", format!("{order}{letter}{size}"))?;
        // Read only, because the numbers belong to the profile.
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }

    /// The type, by Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, FFI_ArrowSchema::try_from(&self.kind))
    }

    /// The values, by Arrow's PyCapsule interface, if the column has one chunk. Nothing is copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        export(py, self.one_piece()?.as_ref())
    }

    /// Whether the column has one chunk.
    #[getter]
    fn is_contiguous(&self) -> bool {
        self.whole().is_some() || self.chunks.is_empty()
    }
}

fn missing(kind: &DataType) -> PyErr {
    PyAttributeError::new_err(format!("a column of {kind} in this form has no array interface; use to_numpy()"))
}

fn address<T: ArrowPrimitiveType>(array: &ArrayRef) -> (usize, usize) {
    (array.as_primitive::<T>().values().as_ptr().addr(), size_of::<T::Native>())
}

fn export<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyTuple>> {
    let (data, schema) = arrow_array::ffi::to_ffi(&array.to_data()).map_err(internal)?;
    let data: FFI_ArrowArray = data;
    let schema = export_schema(py, Ok(schema))?;
    let data = PyCapsule::new_with_value(py, data, c"arrow_array")?;
    PyTuple::new(py, [schema, data])
}

fn export_schema(py: Python<'_>, schema: Result<FFI_ArrowSchema, ArrowError>) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, schema.map_err(internal)?, c"arrow_schema")
}

/// Returns the chunk of a row, and its position in the chunk. Negative numbers count from the end.
fn place(index: isize, pieces: impl Iterator<Item = usize> + Clone) -> PyResult<(usize, usize)> {
    let len: usize = pieces.clone().sum();
    let mut at = if index < 0 { len.checked_sub(index.unsigned_abs()) } else { Some(index as usize) };
    for (piece, rows) in pieces.enumerate() {
        match at {
            Some(at) if at < rows => return Ok((piece, at)),
            _ => at = at.and_then(|at| at.checked_sub(rows)),
        }
    }
    Err(PyIndexError::new_err(format!("row {index} does not exist, there are {len}")))
}

fn row<'py>(py: Python<'py>, batch: &RecordBatch, at: usize) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        fields.set_item(field.name(), value(py, column, at)?)?;
    }
    Ok(fields)
}

fn number<'py, T: ArrowPrimitiveType>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>>
where
    T::Native: IntoPyObject<'py>,
{
    array.as_primitive::<T>().value(at).into_bound_py_any(py)
}

/// Converts a value to Python.
fn value<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    if let Some(number) = of_numbers!(array.data_type(), number(py, array, at)) {
        return number;
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(at).into_bound_py_any(py),
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).into_bound_py_any(py),
        DataType::LargeBinary => Ok(PyBytes::new(py, array.as_binary::<i64>().value(at)).into_any()),
        DataType::LargeList(_) => {
            let inner = array.as_list::<i64>().value(at);
            Ok(Column::of(inner).to_pylist(py)?.into_any())
        }
        other => Err(internal(ArrowError::NotYetImplemented(format!("values of {other}")))),
    }
}

/// Returns a column of strings, some of which may be missing.
pub(crate) fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(texts.into_iter().collect::<arrow_array::LargeStringArray>())
}

/// Returns a column of numbers.
pub(crate) fn numbers<T: ArrowPrimitiveType>(numbers: Vec<T::Native>) -> ArrayRef {
    Arc::new(arrow_array::PrimitiveArray::<T>::new(numbers.into(), None))
}
