"""Read and write demonstrations: files, tables, frames and other libraries."""
