/// A machine on a link, as the kernel's table of neighbours has it.
package struct Neighbour: Hashable, Sendable {
  package let interfaceIndex: Int32
  package let address: IPAddress

  package init(interfaceIndex: Int32, address: IPAddress) {
    self.interfaceIndex = interfaceIndex
    self.address = address
  }
}
