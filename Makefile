# A thin front: everything real is in meson.build and tests/.
BUILD ?= build

.PHONY: all deps demo test bench install clean
all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

clean:
	rm -rf $(BUILD) build-*
