import CLibCAres

/// Returns whether the loaded c-ares is older than version 1 with this minor number.
func aresIsBefore(minor: CInt) -> Bool {
  var number: CInt = 0
  _ = unsafe ares_version(&number)
  return number < 1 << 16 | minor << 8
}
