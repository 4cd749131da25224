/* site_error.c - texts of Slurm's error numbers (site_error.h).
 *
 * Called by: gate_site.c, for a refusal without a message. */
#include "jobmgr/site/site_error.h"

#include <stddef.h>

static const struct {
	int number;
	const char *text;
} errors[] = {
	{2000, "Invalid partition name specified"},
	{2001, "No partition specified or system default partition"},
	{2002, "Access/permission denied"},
	{2003, "User's group not permitted to use this partition"},
	{2004, "Requested nodes not in this partition"},
	{2005, "More processors requested than permitted"},
	{2006, "Node count specification invalid"},
	{2008, "Job size specification needs to be provided"},
	{2009, "Batch script is missing"},
	{2010, "Unauthorized user ID"},
	{2014, "Requested node configuration is not available"},
	{2015, "Requested partition configuration not available now"},
	{2018, "Invalid node name specified"},
	{2025, "Task count specification invalid"},
	{2029, "Invalid feature specification"},
	{2036, "Requested operation is presently disabled"},
	{2038, "Job dependency problem"},
	{2039, "Only batch jobs are accepted or processed"},
	{2044, "Memory required by task is not available"},
	{2045, "Invalid account or account/partition combination specified"},
	{2048, "Invalid license specification"},
	{2050, "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"},
	{2051, "Requested time limit is invalid (missing or exceeds some limit)"},
	{2052, "Access denied to requested reservation"},
	{2053, "Requested reservation is invalid"},
	{2054, "Invalid time specified"},
	{2057, "Invalid wckey specification"},
	{2066, "Invalid qos specification"},
	{2069, "Invalid CPU count"},
	{2070, "Requested partition not available"},
	{2072, "Invalid generic resource (gres) specification"},
	{2081, "Invalid job array specification"},
	{2092, "Burst Buffer permission denied"},
	{2094, "Burst Buffer request invalid"},
};

const char *site_error_text(int64_t number)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].number == number)
			return errors[i].text;
	return "Unspecified error";
}
