//===- MemoryPage.cpp - Pool and arena of a session as one page -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Reports.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace kiln::run {
namespace {

constexpr double kWidth = 960;

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '&':
      out += "&amp;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

[[gnu::format(printf, 1, 2)]] std::string print(const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return text;
}

std::string bytesText(uint64_t bytes) {
  if (bytes < 1024)
    return print("%llu B", static_cast<unsigned long long>(bytes));
  const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 != std::size(units); ++unit)
    value /= 1024;
  return print("%.1f %s", value, units[unit]);
}

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100 * double(part) / double(whole) : 0;
}

/// What a buffer is called: the nodes that compute it, or else their kernel.
std::string nameOf(const kiln_plan_buffer &buffer) {
  return *buffer.nodes ? buffer.nodes : buffer.kernel;
}

std::string row(const std::string &name, const std::string &value) {
  return "<tr><td>" + escaped(name) + "</td><td>" + escaped(value) + "</td></tr>\n";
}

/// Time to the right, offsets upwards: two buffers that share bytes never meet.
std::string drawArena(const MemoryReport &report) {
  constexpr double height = 420;
  double scaleX = kWidth / double(std::max(report.plan.num_launches, 1u));
  double scaleY = height / double(std::max<uint64_t>(report.plan.arena_bytes, 1));
  std::string svg = print("<svg viewBox=\"0 0 %g %g\" class=\"plot\">\n", kWidth, height);
  for (size_t i = 0; i != report.buffers.size(); ++i) {
    const kiln_plan_buffer &buffer = report.buffers[i];
    if (!buffer.bytes)
      continue;
    double y = height - double(buffer.offset + buffer.bytes) * scaleY;
    svg += print("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                 "fill=\"hsl(%zu 60%% 62%%)\"><title>",
                 double(buffer.first) * scaleX, y, double(buffer.last - buffer.first + 1) * scaleX,
                 std::max(double(buffer.bytes) * scaleY, 0.5), i * 47 % 360);
    svg += escaped(nameOf(buffer)) +
           print("\n%s at offset %llu, launches %u to %u</title></rect>\n",
                 bytesText(buffer.bytes).c_str(), static_cast<unsigned long long>(buffer.offset),
                 buffer.first, buffer.last);
  }
  return svg + "</svg>\n";
}

struct Series {
  const char *name;
  const char *color;
  uint64_t (*value)(const kiln_pool_stats &);
};

const Series kSeries[] = {
    {"reserved", "#555", [](const kiln_pool_stats &s) { return s.reserved; }},
    {"static", "#2a7", [](const kiln_pool_stats &s) { return s.static_used; }},
    {"run-time blocks", "#27c", [](const kiln_pool_stats &s) { return s.used; }},
    {"cached", "#c72", [](const kiln_pool_stats &s) { return s.cached; }},
    {"free", "#a4a", [](const kiln_pool_stats &s) { return s.free_bytes; }},
};

std::string drawPool(const MemoryReport &report) {
  constexpr double height = 220;
  uint64_t most = 1;
  for (const kiln_pool_stats &sample : report.samples)
    most = std::max(most, sample.reserved);
  size_t steps = std::max<size_t>(report.samples.size(), 2) - 1;
  std::string svg = print("<svg viewBox=\"0 0 %g %g\" class=\"plot\">\n", kWidth, height);
  for (const Series &series : kSeries) {
    svg +=
        print("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", series.color);
    for (size_t i = 0; i != report.samples.size(); ++i)
      svg += print("%.1f,%.1f ", kWidth * double(i) / double(steps),
                   (height - 4) * (1 - double(series.value(report.samples[i])) / double(most)) + 2);
    svg += "\"/>\n";
  }
  svg += "</svg>\n<p>";
  for (const Series &series : kSeries)
    svg += print("<span style=\"color:%s\">&#9632; %s</span> ", series.color, series.name);
  return svg + "; the top is " + bytesText(most) + "</p>\n";
}

std::string poolTable(const kiln_pool_stats &stats) {
  auto count = [](uint64_t value) { return std::to_string(value); };
  uint64_t lookups = stats.cache_hits + stats.ring_hits + stats.slab_hits;
  std::string text = "<table>\n";
  text += row("reserved, now and at its peak",
              bytesText(stats.reserved) + ", " + bytesText(stats.peak_reserved));
  text += row("static: arena, outputs, copies of inputs",
              bytesText(stats.static_used) + " in " + count(stats.static_blocks) + " blocks");
  text += row("run-time blocks in use, now and at their peak",
              bytesText(stats.used) + ", " + bytesText(stats.peak_used));
  text += row("held by caches and the ring", bytesText(stats.cached));
  text +=
      row("internal fragmentation (given over asked for)",
          print("%.2f %%", percent(stats.given_total - stats.requested_total, stats.given_total)));
  text += row("external fragmentation (free, but not in one piece)",
              print("%.2f %%", percent(stats.free_bytes - stats.largest_free, stats.free_bytes)));
  text += row("run-time allocations served by cache, ring, slab",
              print("%.1f %%, %.1f %%, %.1f %% of ", percent(stats.cache_hits, lookups),
                    percent(stats.ring_hits, lookups), percent(stats.slab_hits, lookups)) +
                  count(lookups));
  text += row("calls of the source", count(stats.source_calls));
  text += row("failed allocations", count(stats.failures));
  text += row("waits for another thread", count(stats.contended));
  return text + "</table>\n";
}

std::string largestTable(const MemoryReport &report) {
  constexpr size_t shown = 40;
  std::vector<const kiln_plan_buffer *> order;
  for (const kiln_plan_buffer &buffer : report.buffers)
    order.push_back(&buffer);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  std::string text = "<table>\n<tr><th>tensor of</th><th>bytes</th><th>offset</th>"
                     "<th>launches</th></tr>\n";
  for (size_t i = 0; i != std::min(order.size(), shown); ++i)
    text +=
        "<tr><td>" + escaped(nameOf(*order[i])) + "</td>" +
        print("<td>%s</td><td>%llu</td><td>%u to %u</td></tr>\n",
              bytesText(order[i]->bytes).c_str(), static_cast<unsigned long long>(order[i]->offset),
              order[i]->first, order[i]->last);
  return text + "</table>\n";
}

} // namespace

std::string memoryPage(const MemoryReport &report) {
  const kiln_memory_plan &plan = report.plan;
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
                     escaped(report.model) +
                     ": memory</title>\n<style>\n"
                     "body{font:14px sans-serif;max-width:1000px;margin:2em auto;color:#222}\n"
                     ".plot{width:100%;background:#f4f4f4}\n"
                     "table{border-collapse:collapse}td,th{padding:2px 12px;text-align:left;"
                     "border-bottom:1px solid #ddd}\n"
                     "</style></head><body>\n<h1>" +
                     escaped(report.model) + "</h1>\n";
  page += "<h2>Arena</h2>\n<p>" +
          print("%u buffers in %s; the least that any plan needs is %s, %.2f %% less. "
                "Scratch of all threads: %s.",
                plan.num_buffers, bytesText(plan.arena_bytes).c_str(),
                bytesText(plan.lower_bound).c_str(),
                percent(plan.arena_bytes - plan.lower_bound, plan.arena_bytes),
                bytesText(plan.scratch_bytes).c_str()) +
          "</p>\n<p>Launches from left to right, offsets from bottom to top; point at a buffer for "
          "its name.</p>\n" +
          drawArena(report);
  page += "<h2>Largest tensors</h2>\n" + largestTable(report);
  page += "<h2>Pool over time</h2>\n<p>Memory of " + escaped(report.device) +
          ". One step a run, from the session's start.</p>\n" + drawPool(report);
  if (!report.samples.empty())
    page += poolTable(report.samples.back());
  return page + "</body></html>\n";
}

} // namespace kiln::run
