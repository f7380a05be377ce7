//! GraalVM iprof: document model, reader, writer, check, repair, merge.
