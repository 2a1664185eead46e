// Declarations of tt-metal's compute API that the device script of Tensix uses: enough to check its syntax and types.
#pragma once
#include <cstdint>

#define NAMESPACE compute
#define MAIN run()

void cb_wait_front(std::uint32_t cb, std::uint32_t tiles);
void cb_pop_front(std::uint32_t cb, std::uint32_t tiles);
void cb_reserve_back(std::uint32_t cb, std::uint32_t tiles);
void cb_push_back(std::uint32_t cb, std::uint32_t tiles);
void tile_regs_acquire();
void tile_regs_commit();
void tile_regs_wait();
void tile_regs_release();
void copy_tile_to_dst_init_short(std::uint32_t cb);
void copy_tile(std::uint32_t cb, std::uint32_t tile, std::uint32_t dst);
void mm_init(std::uint32_t in0, std::uint32_t in1, std::uint32_t out);
void mm_init_short(std::uint32_t in0, std::uint32_t in1);
void matmul_tiles(std::uint32_t in0, std::uint32_t in1, std::uint32_t i, std::uint32_t j, std::uint32_t dst, bool transpose);
void mul_tiles_init(std::uint32_t in0, std::uint32_t in1);
void mul_tiles(std::uint32_t in0, std::uint32_t in1, std::uint32_t i, std::uint32_t j, std::uint32_t dst);
void add_tiles_init(std::uint32_t in0, std::uint32_t in1, bool accumulate);
void add_tiles(std::uint32_t in0, std::uint32_t in1, std::uint32_t i, std::uint32_t j, std::uint32_t dst);
void pack_tile(std::uint32_t dst, std::uint32_t cb);
