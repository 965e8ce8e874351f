// The C library of the system, which Swift knows by another name on each: glibc, or musl in static programs of other distributions.
#if canImport(Musl)
  @_exported import Musl
#else
  @_exported import Glibc
#endif
