//===- ProfileReport.cpp - A session's launches as table, JSON, trace -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Json.h"
#include "Reports.h"

#include <algorithm>
#include <cstdio>

namespace kiln::run {
namespace {

uint64_t totalOf(const LaunchProfile &profile) {
  uint64_t total = 0;
  for (const kiln_profile_row &row : profile.rows)
    total += row.total_ns;
  return total;
}

/// Nothing of a CPU.
std::string placeText(const LaunchProfile &profile) {
  if (profile.device == "cpu")
    return "";
  return " on " + profile.device +
         (profile.isSimulated() ? " (the simulator's own time, not a device's)" : "");
}

} // namespace

std::string profileTable(const LaunchProfile &profile) {
  std::vector<const kiln_profile_row *> order;
  for (const kiln_profile_row &row : profile.rows)
    if (row.launches)
      order.push_back(&row);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a < b;
  });
  uint64_t total = totalOf(profile);
  uint64_t runs = std::max<uint64_t>(profile.runs, 1);
  char line[160];
  std::snprintf(line, sizeof line, "%zu launches in %.3f us a run, over %llu runs", order.size(),
                double(total) / double(runs) * 1e-3, static_cast<unsigned long long>(runs));
  std::string text = line + placeText(profile) + "\n";
  text += "  share  us/run   min us   max us  kernel  nodes\n";
  for (const kiln_profile_row *row : order) {
    std::snprintf(line, sizeof line, "%6.1f%% %7.2f %8.2f %8.2f  ",
                  total ? 100 * double(row->total_ns) / double(total) : 0,
                  double(row->total_ns) / double(runs) * 1e-3, double(row->shortest_ns) * 1e-3,
                  double(row->longest_ns) * 1e-3);
    text += line + std::string(row->kernel) + "  " + row->nodes + "\n";
  }
  return text;
}

std::string profileJson(const LaunchProfile &profile, const std::string &model) {
  JsonWriter json;
  json.beginObject().key("format").value("kiln-profile 1.0").key("model").value(model);
  json.key("device").value(profile.device).key("simulated").value(profile.isSimulated());
  json.key("runs").value(profile.runs).key("total_ns").value(totalOf(profile));
  json.key("launches").beginArray();
  for (const kiln_profile_row &row : profile.rows) {
    json.beginObject().key("kernel").value(row.kernel).key("nodes").value(row.nodes);
    json.key("launches").value(row.launches).key("total_ns").value(row.total_ns);
    json.key("min_ns").value(row.shortest_ns).key("max_ns").value(row.longest_ns).endObject();
  }
  json.endArray().endObject();
  return json.text() + "\n";
}

std::string chromeTrace(const LaunchProfile &profile, const std::string &model) {
  uint64_t origin = profile.events.empty() ? 0 : profile.events.front().start_ns;
  JsonWriter json;
  json.beginObject().key("displayTimeUnit").value("ns").key("traceEvents").beginArray();
  json.beginObject().key("name").value("process_name").key("ph").value("M").key("pid").value(1);
  json.key("args").beginObject().key("name").value(model + placeText(profile));
  json.endObject().endObject();
  for (const kiln_trace_event &event : profile.events) {
    const kiln_profile_row &row = profile.rows[event.row];
    json.beginObject().key("name").value(row.kernel).key("cat").value("launch");
    json.key("ph").value("X").key("pid").value(1).key("tid").value(1);
    // Microseconds, says the format.
    json.key("ts").value(double(event.start_ns - origin) * 1e-3);
    json.key("dur").value(double(event.duration_ns) * 1e-3);
    json.key("args").beginObject().key("nodes").value(row.nodes);
    json.key("chunks").value(event.chunks).endObject().endObject();
  }
  json.endArray().endObject();
  return json.text() + "\n";
}

} // namespace kiln::run
