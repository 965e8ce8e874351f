import Netwatch
import Testing

@Suite struct WiFiSignalTests {
  @Test(arguments: [
    (-100, 0), (-99, 2), (-75, 50), (-51, 98), (-50, 100), (-101, 0), (-128, 0), (-49, 100), (0, 100), (127, 100),
    (Int.min, 0), (Int.max, 100),
  ])
  func `a signal is a percentage between -100 and -50 dBm`(_ dBm: Int, _ percent: Int) {
    #expect(WiFiSignal(dBm: dBm).percent == percent)
  }
}
