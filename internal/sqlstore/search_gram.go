package sqlstore

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
)

// runeBits is the size of a character in a gram.
const runeBits = 21

// gramOf returns the gram that begins a text: three characters, or fewer at its end. The
// grams with the same first characters follow each other.
func gramOf(text []rune) (gram int64) {
	for i := range 3 {
		gram <<= runeBits
		if i < len(text) {
			gram |= int64(text[i])
		}
	}
	return gram
}

// gramsIn are the grams that begin at each character of a folded text.
func gramsIn(text string) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for runes := []rune(text); len(runes) > 0; runes = runes[1:] {
			if !yield(gramOf(runes)) {
				return
			}
		}
	}
}

// blockSize is how many numbers of pages a row of search_gram is about.
const blockSize = 1 << 12

// pageSet is a set of pages of a block, by their numbers in it.
type pageSet [blockSize / 64]uint64

func (s *pageSet) add(n int64) { s[n/64] |= 1 << (n % 64) }

func (s *pageSet) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// numbers are the members in order.
func (s *pageSet) numbers() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(int64(64*i + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// setBytes is the size of a stored set that is no list.
const setBytes = blockSize / 8

// pack returns the shorter of a list of numbers and the whole set.
func (s *pageSet) pack() []byte {
	packed := make([]byte, 0, setBytes)
	if 2*s.count() < setBytes {
		for n := range s.numbers() {
			packed = binary.LittleEndian.AppendUint16(packed, uint16(n)) //nolint:gosec // it is below the size of a block
		}
		return packed
	}
	for _, word := range s {
		packed = binary.LittleEndian.AppendUint64(packed, word)
	}
	return packed
}

func (s *pageSet) unpack(packed []byte) error {
	switch {
	case len(packed) == setBytes:
		for i := range s {
			s[i] = binary.LittleEndian.Uint64(packed[8*i:])
		}
		return nil
	case len(packed) > setBytes || len(packed)%2 != 0:
		return fmt.Errorf("a set of pages has %d bytes", len(packed))
	}
	*s = pageSet{}
	for ; len(packed) > 0; packed = packed[2:] {
		n := int64(binary.LittleEndian.Uint16(packed))
		if n >= blockSize {
			return fmt.Errorf("a set of pages has number %d", n)
		}
		s.add(n)
	}
	return nil
}
