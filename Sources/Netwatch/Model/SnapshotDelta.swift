/// What a fact changed, as far as a path or a list of links can depend on it.
package struct SnapshotDelta: Hashable, Sendable {
  /// Families whose lookup may answer differently now.
  package var routing: AddressFamilies = []
  /// The list of links, as it is shown, is another one.
  package var isVisible = false
  /// Families in which the kernel announced it before it was done; a lookup may still see the old state.
  package var announcedEarly: AddressFamilies = []
  /// Links that stand on the changed one. The kernel may tell of them a second later; ask instead.
  package var dependents: [Int32] = []
  /// Tunnels have other ends than before.
  package var movesRemotes = false

  /// A route may be there for longer than before.
  package var announcesRoutes = false

  package init() {}

  mutating func merge(_ other: SnapshotDelta) {
    routing.formUnion(other.routing)
    isVisible = isVisible || other.isVisible
    announcedEarly.formUnion(other.announcedEarly)
    movesRemotes = movesRemotes || other.movesRemotes
    announcesRoutes = announcesRoutes || other.announcesRoutes
    for index in other.dependents where !dependents.contains(index) { dependents.append(index) }
  }
}
