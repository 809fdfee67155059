/* SPDX-License-Identifier: Apache-2.0 */
/* `portal-runner --worker '{"op": ...}'`: what takes long and would hold the loop, in a process that dies with the runner. Its answer is one
 * JSON object on stdout; a failure is exit 1 with a sentence on stderr.
 *   rmtree {"path"}   sync {"path"}
 *   pack {"dir", "to", "id_base", "layer": bool}      -> {"bytes", "sha256", "plain_bytes"}
 *   unpack {"objects": [{"object": its name, "from", "dir", "id_base", "layer": bool, "sha256", "bytes", "plain_max"}]}: all digests first */
#ifndef RUNNER_WORKER_H
#define RUNNER_WORKER_H

int worker_main(const char *task);

#endif
