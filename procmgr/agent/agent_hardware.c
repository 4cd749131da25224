/* agent_hardware.c - finds the hardware of the node with hwloc, and the image that it was booted with.
 *
 * Called by: agent.c at each registration.
 * Invariants: a number or an image that was not found is left out. */
#include "procmgr/agent/agent_hardware.h"

#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/record/lease.h"

enum { IMAGE_NAME_MOST = 63 }; /* the same limit as in the check of rota.node.image */

static int count_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	int count = hwloc_get_nbobjs_by_type(topology, type);
	return count > 0 ? count : 0;
}

/* Count GPUs with the driver library that shows the most of them. */
static int count_gpus(hwloc_topology_t topology)
{
	static const char *const drivers[] = {"nvml", "cuda", "rsmi", "ze"};
	int most = 0;
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		int count = 0;
		for (hwloc_obj_t o = NULL; (o = hwloc_get_next_osdev(topology, o));)
			count += o->name && strncmp(o->name, drivers[i], strlen(drivers[i])) == 0;
		most = count > most ? count : most;
	}
	return most;
}

/* Memory of the machine in MiB: the kernel's total or the sum of the NUMA nodes, whichever is larger. On virtual machines the
 * NUMA nodes may show only a part. */
static int64_t find_memory(hwloc_topology_t topology)
{
	hwloc_obj_t root = hwloc_get_root_obj(topology);
	int64_t shown = root ? (int64_t)(root->total_memory / (1024 * 1024)) : 0;
	int64_t total = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / (1024 * 1024);
	return shown > total ? shown : total;
}

static void add_counts(json_t *found, hwloc_topology_t topology)
{
	int threads = count_objects(topology, HWLOC_OBJ_PU), cores = count_objects(topology, HWLOC_OBJ_CORE);
	int sockets = count_objects(topology, HWLOC_OBJ_PACKAGE), gpus = count_gpus(topology);
	int64_t mem_mb = find_memory(topology);
	if (threads > 0) {
		json_object_set_new(found, "cpus", json_integer(threads));
		json_object_set_new(found, "threads", json_integer(threads));
	}
	if (cores > 0)
		json_object_set_new(found, "cores", json_integer(cores));
	if (sockets > 0)
		json_object_set_new(found, "sockets", json_integer(sockets));
	if (mem_mb > 0)
		json_object_set_new(found, "mem_mb", json_integer(mem_mb));
	if (gpus > 0) {
		json_object_set_new(found, "gpus", json_integer(gpus));
		json_object_set_new(found, "gres", json_pack("{s:i}", "gpu", gpus));
	}
}

/* Do not load hwloc components that open displays, start compilers or map the PCI bus. Rota only counts devices. */
static void exclude_components(hwloc_topology_t topology)
{
	static const char *const components[] = {"gl", "opencl", "pci"};
	for (size_t i = 0; i < sizeof components / sizeof *components; i++)
		hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, components[i]);
}

static json_t *find_hardware(void)
{
	struct utsname system;
	hwloc_topology_t topology;
	json_t *facts = json_object();
	if (hwloc_topology_init(&topology) == 0) {
		exclude_components(topology);
		hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
		if (hwloc_topology_load(topology) == 0)
			add_counts(facts, topology);
		hwloc_topology_destroy(topology);
	}
	if (uname(&system) == 0) {
		json_object_set_new(facts, "arch", json_string(system.machine));
		char *os = xasprintf("%s %s", system.sysname, system.release);
		json_object_set_new(facts, "os", json_string(os));
		free(os);
	}
	return facts;
}

const char *agent_version(const struct conf *conf)
{
	return conf->launcher_dry_run ? ROTA_VERSION " (dry run)" : ROTA_VERSION;
}

/* Add the image that a file names to the facts of a node. Without a valid name, the facts have no image, so no step that asks for an image
 * can run on the node. */
static void image_add(json_t *facts, const char *path)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	char name[IMAGE_NAME_MOST + 2] = "";
	FILE *file = *path ? fopen(path, "re") : NULL;

	if (!file) {
		if (*path)
			log_warning("could not open %s, so this node reports no image: %s", path, strerror(errno));
		return;
	}
	if (fgets(name, sizeof name, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
	if (isalnum((unsigned char)*name) && strspn(name, letters) == strlen(name) && strlen(name) <= IMAGE_NAME_MOST)
		json_object_set_new(facts, "image", json_string(name));
	else
		log_warning("the first line of %s is not the name of an image, so this node reports none", path);
}

json_t *agent_hardware_facts(const struct conf *conf, const char *node)
{
	char host[256] = "", boot[LEASE_BOOT_SIZE];
	lease_boot_id(boot);
	if (gethostname(host, sizeof host - 1) < 0)
		*host = '\0';
	json_t *one = json_pack("{s:s, s:o, s:s, s:i, s:s, s:o, s:i}", "name", node, "boot_id",
				*boot ? json_string(boot) : json_null(), "version", agent_version(conf), "pid", (int)getpid(),
				"address", host, "found", find_hardware(), "lease_s", conf->node_lease);
	image_add(one, conf->node_image_file);
	return json_pack("{s:[o]}", "nodes", one);
}
