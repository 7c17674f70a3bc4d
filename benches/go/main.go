// Command benches parses netlink messages with the attribute parser of github.com/vishvananda/netlink, for
// benches/nl to compare itself with.
//
// Usage: benches FILE NESTED: FILE holds the messages one after another, NESTED the numbers of the attributes
// that are lists, separated by commas (the kernel does not flag them). Prints the median nanoseconds of a pass.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink/nl"
)

const (
	header   = 16
	typeMask = 0x3fff
	duration = 2 * time.Second
)

// parse gives the number of attributes in a list and in the lists inside it.
func parse(bytes []byte, nested *[typeMask + 1]bool) (int, error) {
	attributes, err := nl.ParseRouteAttr(bytes)
	if err != nil {
		return 0, err
	}
	count := len(attributes)
	for _, attribute := range attributes {
		if nested[attribute.Attr.Type&typeMask] {
			inner, err := parse(attribute.Value, nested)
			if err != nil {
				return 0, err
			}
			count += inner
		}
	}
	return count, nil
}

// pass parses every message of the file.
func pass(messages []byte, nested *[typeMask + 1]bool) (int, error) {
	count := 0
	for len(messages) >= header {
		length := int(binary.NativeEndian.Uint32(messages))
		if length < header || length > len(messages) {
			return 0, fmt.Errorf("a message of %d bytes", length)
		}
		inner, err := parse(messages[header:length], nested)
		if err != nil {
			return 0, err
		}
		count += inner
		messages = messages[min((length+3)&^3, len(messages)):]
	}
	return count, nil
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: benches FILE NESTED")
	}
	messages, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	var nested [typeMask + 1]bool
	for text := range strings.SplitSeq(args[2], ",") {
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || number > typeMask {
			return fmt.Errorf("%q is no attribute number", text)
		}
		nested[number] = true
	}
	var times []time.Duration
	count := 0
	for start := time.Now(); time.Since(start) < duration; {
		began := time.Now()
		if count, err = pass(messages, &nested); err != nil {
			return err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	fmt.Println(times[len(times)/2].Nanoseconds(), count)
	return nil
}

func main() {
	// One core for both, the garbage collector included.
	runtime.GOMAXPROCS(1)
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
