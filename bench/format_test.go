package main

import (
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		digits(0):        "0",
		digits(0.0456):   "0.0456",
		digits(0.1):      "0.100",
		digits(9.994):    "9.99",
		digits(9.996):    "10.0",
		digits(14.16):    "14.2",
		digits(99.96):    "100",
		digits(721.4):    "721",
		digits(999.7):    "1,000",
		digits(54383):    "54,400",
		digits(1234567):  "1,230,000",
		digits(999_999):  "1,000,000",
		count(0):         "0",
		count(999):       "999",
		count(1000):      "1,000",
		count(1_000_000): "1,000,000",

		durationText(0):                       "–",
		durationText(14_160):                  "14.2 µs",
		durationText(999_900):                 "1.00 ms",
		durationText(2 * time.Millisecond):    "2.00 ms",
		durationText(1390 * time.Millisecond): "1.39 s",
		durationText(115 * time.Second):       "115 s",
		bytesText(25_480_000):                 "25.5 MB",
		sized(1, ofLocales):                   "1 locale",
		sized(10_000, ofPages):                "10,000 pages",
		progressText(250_000, 1_000_000, 5e3): "250,000 of 1,000,000 pages, 5,000/s, 2m30s to go",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
