/* translate_refuse_test.c - every refusal, with its line and option. */
#include "tests/unit/translate_case.h"

static void refused_lines(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "#ROTA --checkpoint=mana\n", 2, "--checkpoint", "\"mana\" is no driver of checkpoints",
		     "Rota has no driver for MPI programs: have the program save itself, with --checkpoint=app"),
		LINE(BASH "#ROTA --checkpoint=blcr\n", 2, "--checkpoint", "\"blcr\" is no driver of checkpoints",
		     "write app, auto, dmtcp, criu, script:NAME or no"),
		LINE(BASH "#ROTA --checkpoint=dmtcp --open-mode=truncate\n", 2, "--open-mode",
		     "a program that is restored goes on in its output", "leave the option out, or write --open-mode=append"),
		LINE(BASH "#ROTA --checkpoint=auto --checkpoint-signal=USR2\n", 2, "--checkpoint-signal",
		     "DMTCP uses SIGUSR2 itself", "choose another signal, or write --checkpoint=app"),
		LINE(BASH "#ROTA --checkpoint=dmtcp\n#ROTA --cred=krb5,eve/notes\n", 3, "--checkpoint",
		     "an image of dmtcp would hold the credentials of the step (krb5,notes@eve)",
		     "write --checkpoint=app, or --cred=none"),
		LINE(BASH "#ROTA --checkpoint=criu\n#ROTA --cred=krb5\n", 3, "--checkpoint",
		     "an image of criu would hold the credentials", "write --checkpoint=app, or --cred=none"),
		LINE(BASH "#ROTA --checkpoint=dmtcp --gpus=2\n", 2, "--checkpoint",
		     "dmtcp does not save what a program has in GPUs", "write --checkpoint=app"),
		LINE(BASH "#ROTA --gres=fpga,gpu:1\n#ROTA --checkpoint=criu\n", 3, "--checkpoint",
		     "criu does not save what a program has in GPUs", "write --checkpoint=app"),
		LINE(BASH "#ROTA --checkpoint=script:../x\n", 2, "--checkpoint", "is no driver of checkpoints", NULL),
		LINE(BASH "#ROTA --checkpoint=script:\n", 2, "--checkpoint", "is no driver of checkpoints", NULL),
		LINE(BASH "#ROTA --checkpoint-interval=5\n", 2, "--checkpoint-interval", "the step is not checkpointed",
		     "add --checkpoint=app"),
		LINE(BASH "#ROTA --checkpoint=no --checkpoint-keep=5\n", 2, "--checkpoint-keep", "the step is not checkpointed",
		     "add --checkpoint=app"),
		LINE(BASH "#ROTA --checkpoint=app --checkpoint-keep=0\n", 2, "--checkpoint-keep", "", ""),
		LINE(BASH "#ROTA --checkpoint=app --checkpoint-signal=KILL\n", 2, "--checkpoint-signal", "", ""),
		LINE(BASH "#ROTA --checkpoint=app --checkpoint-signal=X:USR1\n", 2, "--checkpoint-signal",
		     "\"X:USR1\" is not a signal", "write USR1 or B:USR1"),
		LINE(BASH "#ROTA --run=tasks\n#ROTA --checkpoint=app\n", 3, "--checkpoint",
		     "the script of the step runs once for each task",
		     "have one script start the tasks with rota run, and save them together; or write --checkpoint=dmtcp "
		     "--nodes=1"),
		LINE(BASH "#ROTA --run=tasks --ntasks=2\n#ROTA --checkpoint=dmtcp\n", 3, "--checkpoint",
		     "dmtcp saves tasks together only on a fixed number of nodes", "add --nodes=1, or another number"),
		LINE(BASH "#ROTA --run=tasks --nodes=1-2 --ntasks=2\n#ROTA --checkpoint=dmtcp\n", 3, "--checkpoint",
		     "dmtcp saves tasks together only on a fixed number of nodes", "add --nodes=1, or another number"),
		LINE(BASH "#ROTA --run=tasks --nodes=2 --tmpdir\n#ROTA --checkpoint=dmtcp\n", 2, "--tmpdir",
		     "dmtcp does not save what several nodes have in TMPDIR", "leave it out, or write --nodes=1"),
		LINE(BASH "#ROTA --run=tasks --nodes=2 --no-kill\n#ROTA --checkpoint=dmtcp\n", 2, "--no-kill",
		     "go on only on all nodes of the step", "leave it out: when a node is lost"),
		LINE(BASH "#ROTA --run=tasks --nodes=2 --checkpoint=dmtcp\n#ROTA --replace-failed\n", 3, "--replace-failed",
		     "go on only on all nodes of the step", "leave it out: when a node is lost"),
		LINE(BASH "#ROTA --checkpoint=app --time=5 --checkpoint-before=5\n", 2, "--checkpoint-before",
		     "the time before the limit is not shorter than --time", ""),
		LINE("", 0, "", "the script is empty", NULL),
		LINE("echo\n", 1, "", "does not begin with #!", "#!/bin/bash"),
		LINE("\n#!/bin/sh\n", 1, "", "does not begin with #!", NULL),
		LINE("\xEF\xBB\xBF#!/bin/sh\n", 1, "", "does not begin with #!", NULL),
		LINE("#", 1, "", "does not begin with #!", NULL),
		LINE("#!\n", 1, "", "the path after #! is not absolute", NULL),
		LINE("#!bash\n", 1, "", "the path after #! is not absolute", NULL),
		LINE("#!/bin/sh\r\necho\r\n", 1, "", "DOS line ends", "dos2unix"),
		LINE(BASH "echo \xE9\n", 2, "", "is not UTF-8 text", "iconv"),
		LINE(BASH "#ROTA --time=1\n#ROTA --tme=1\n", 3, "--tme", "unknown option", "did you mean \"--time\"?"),
		LINE(BASH "#ROTA --zzzzzzzz\n", 2, "--zzzzzzzz", "unknown option", ""),
		LINE(BASH "#ROTA -Z\n", 2, "-Z", "unknown option", NULL),
		LINE(BASH "#ROTA --no-time\n", 2, "--no-time", "unknown option", NULL),
		LINE(BASH "#ROTA --no-hold=x\n", 2, "--no-hold", "the option takes no value", NULL),
		LINE(BASH "#ROTA --hold=x\n", 2, "--hold", "the option takes no value", NULL),
		LINE(BASH "#ROTA -Hx\n", 2, "-H", "the option takes no value", NULL),
		LINE(BASH "#ROTA --time\n", 2, "--time", "the option needs a value", "write --time=TIME"),
		LINE(BASH "#ROTA --time --hold\n", 2, "--time", "the option needs a value", NULL),
		LINE(BASH "#ROTA -t\n", 2, "-t", "the option needs a value", NULL),
		LINE(BASH "#ROTA --time=x\n", 2, "--time", "\"x\" is not a duration", "d-h:m:s"),
		LINE(BASH "#ROTA -t x\n", 2, "-t", "is not a duration", NULL),
		LINE(BASH "#ROTA --mem=x\n", 2, "--mem", "is not a size", NULL),
		LINE(BASH "#ROTA --node-prep=-x\n", 2, "--node-prep", "is not a preparation", "NAME:ARGS"),
		LINE(BASH "#ROTA --node-prep=a@b\n", 2, "--node-prep", "is not a preparation", NULL),
		LINE(BASH "#ROTA --node-prep=a:\n", 2, "--node-prep", "are no arguments of preparation a", NULL),
		LINE(BASH "#ROTA --node-prep=a:-x\n", 2, "--node-prep", "are no arguments of preparation a", "space or -"),
		LINE(BASH "#ROTA --node-prep='a:\xC3\xBC'\n", 2, "--node-prep", "are no arguments of preparation a", NULL),
		LINE(BASH "#ROTA --input=in/\n", 2, "--input", "\"in/\" is a folder", NULL),
		LINE(BASH "#ROTA --array=5-1\n", 2, "--array", "ends before it begins", NULL),
		LINE(BASH "#ROTA --hold extra\n", 2, "", "\"extra\" is not an option", NULL),
		LINE(BASH "#ROTA -\n", 2, "", "\"-\" is not an option", NULL),
		LINE(BASH "#ROTA --\n", 2, "--", "unknown option", NULL),
		LINE(BASH "#ROTA frobnicate\n", 2, "", "\"frobnicate\" is neither step, stage-in, stage-out nor an option", NULL),
		LINE(BASH "#ROTA --comment='a\n", 2, "", "quotation mark ' is not closed", NULL),
		LINE(BASH "#ROTA --comment=\"a\n", 2, "", "quotation mark \" is not closed", NULL),
		LINE(BASH "#ROTA --hold \\\n#ROTA --time=5\n", 2, "", "ends in \"\\\"", "cannot continue"),
		LINE(BASH "#ROTA step a\n#ROTA --time=5\n", 3, "", "after the first step", "#ROTA step line"),
		LINE(BASH "#ROTA step\n", 2, "", "the step has no name", NULL),
		LINE(BASH "#ROTA step --hold\n", 2, "", "the step has no name", NULL),
		LINE(BASH "#ROTA step 1a\n", 2, "", "\"1a\" is not a name for a step", "a letter"),
		LINE(BASH "#ROTA step a.b\n", 2, "", "is not a name for a step", NULL),
		LINE(BASH "#ROTA step none\n", 2, "", "is not a name for a step", "there is no peer"),
		LINE(BASH "#ROTA step aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 2, "",
		     "is not a name for a step", NULL),
		LINE(BASH "#ROTA step a\n\n#ROTA step a\n", 4, "", "a step \"a\" on line 2 already", NULL),
		LINE(BASH "#ROTA step a --account=x\n", 2, "--account", "the option is for the whole job",
		     "before the first step"),
		LINE(BASH "#ROTA step a --time=1 --time=2\n", 2, "--time", "the option is given twice", NULL),
		LINE(BASH "#ROTA --after=1\n#ROTA --after=2\n", 3, "--after", "the option is given twice", NULL),
		LINE(BASH "#ROTA --mem=1 --mem-per-cpu=1\n", 2, "--mem-per-cpu", "the option contradicts --mem", NULL),
		LINE(BASH "#ROTA --after=1 --dependency=afterok:1\n", 2, "--dependency", "the option contradicts --after", NULL),
		LINE(BASH "#SBATCH --tme=5\n", 2, "--tme", "unknown option", "\"--time\""),
		LINE(BASH "#ROTA --sample=-1\n", 2, "--sample", "", NULL),
		LINE(BASH "#SBATCH --retry=5\n", 2, "--retry", "unknown option", NULL),
		LINE(BASH "#SBATCH --workdir=x\n", 2, "--workdir", "unknown option", NULL),
		LINE(BASH "#SBATCH --comment='x\n", 2, "", "is not closed", NULL),
		LINE(BASH "#PBS -l waltime=5\n", 2, "-l waltime", "unknown resource", "\"walltime\""),
		LINE(BASH "#PBS -l nodes=1,walltime=x\n", 2, "-l walltime", "is not a duration", NULL),
		LINE(BASH "#PBS -l nodes=1:ppn=x\n", 2, "-l nodes", "is not a number", NULL),
		LINE(BASH "#PBS -I\n", 2, "-I", "a script cannot be interactive", "\"rota shell\""),
		LINE(BASH "#PBS -Ix\n", 2, "-I", "the option takes no value", NULL),
		LINE(BASH "#PBS -W block=true\n", 2, "-W block", "cannot have the caller wait", "rota submit --wait"),
		LINE(BASH "#PBS -c c=5\n", 2, "-c", "checkpoints as PBS takes them", "--checkpoint=DRIVER"),
		LINE(BASH "#SBATCH --test-only\n", 2, "--test-only", "unknown option", "\"rota check\""),
		LINE(BASH "#SBATCH --ignore-pbs\n", 2, "--ignore-pbs", "unknown option", "remove the #PBS lines"),
		LINE(BASH "#PBS -Z x\n", 2, "-Z", "unknown option", NULL),
		LINE(BASH "#SBATCH -d singleton:5\n", 2, "-d", "singleton takes no job number", "write singleton alone"),
		LINE(BASH "#SBATCH -n 2\n#ROTA --strict\ntrue\n#SBATCH -c 2\n", 5, "",
		     "this #SBATCH line is ignored: it is below the first command (line 4)",
		     "--strict turns this warning into an error"),
		LINE(BASH "#PBS -hx\n", 2, "-h", "the option takes no value", NULL),
		LINE(BASH "#PBS --time=5\n", 2, "--", "PBS has no long options", NULL),
		LINE(BASH "#PBS -N\n", 2, "-N", "the option needs a value", NULL),
		SAID("--tme=5", BASH "true\n", "--tme", "unknown option", "\"--time\""),
		SAID("script2", BASH "true\n", "", "\"script2\" is not an option", NULL),
		SAID("--time", BASH "true\n", "--time", "the option needs a value", NULL),
		LINE(BASH "#ROTA --job-name=\x01\n", 2, "--job-name", "\"\\x01\" is not UTF-8 text", NULL),
	};
	(void)state;
	REFUSALS(refusals, NULL);
}

static void refused_peers(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "#ROTA step mesh\n#ROTA step b --after=mehs\n", 3, "--after", "unknown step \"mehs\"",
		     "did you mean \"mesh\"?"),
		LINE(BASH "#ROTA step a\n#ROTA step b --with=x\n", 3, "--with", "unknown step \"x\"", "812.solve"),
		LINE(BASH "#ROTA --after=x\n", 2, "--after", "unknown step \"x\"", NULL),
		LINE(BASH "#ROTA step a --after=a\n#ROTA step b\n", 2, "--after", "cycle: a -> a", NULL),
		LINE(BASH "#ROTA step a --with=a\n", 2, "--with", "cycle: a -> a", NULL),
		LINE(BASH "#ROTA step a --after=b\n#ROTA step b --after=a\n", 3, "--after", "cycle: a -> b -> a",
		     "each step waits for the next"),
		LINE(BASH "#ROTA step a --after=b\n#ROTA step b --after=c\n#ROTA step c --after=a:any\n", 4, "--after",
		     "cycle: a -> b -> c -> a", NULL),
		LINE(BASH "#ROTA step x\n#ROTA step a --after=x,b\n#ROTA step b --after=c\n#ROTA step c --after=b\n", 5,
		     "--after", "cycle: b -> c -> b", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --with=a --after=a\n", 3, "--after", "cycle: b -> a = b", "= joins steps"),
		LINE(BASH "#ROTA step a --after=b\n#ROTA step b\n#ROTA step c --with=b --after=a\n", 4, "--after",
		     "cycle: a -> b = c -> a", NULL),
		LINE(BASH "#ROTA step a --same-nodes=b\n#ROTA step b --same-nodes=a\n", 2, "--same-nodes", "cycle: a -> b -> a",
		     "the one before it"),
		LINE(BASH "#ROTA step a --after=b\n#ROTA step b --other-nodes=a\n", 3, "--other-nodes", "cycle: a -> b -> a",
		     NULL),
		LINE(BASH "#ROTA step a --same-nodes=b\n#ROTA step b\n", 2, "--same-nodes", "cycle: a -> b -> a",
		     "the one before it"),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a,\n", 3, "--after", "an empty item", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a,,a\n", 3, "--after", "an empty item", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --after=a,b?a\n", 4, "--after", "are mixed", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --with=a?b\n", 4, "--with",
		     "\"?\" (any) is for --after and --dependency only", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a,a\n", 3, "--after", "\"a\" is named twice", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a:ok,a:fail\n", 3, "--after", "\"a\" is named twice", NULL),
		LINE(BASH "#ROTA --after=812,7,812\n", 2, "--after", "job 812 is named twice", NULL),
		LINE(BASH "#SBATCH -d afterok:2,afterok:2\n", 2, "-d", "job 2 is named twice", NULL),
		LINE(BASH "#ROTA step a --after=b\n#ROTA step b --dependency=afterok:a\n", 3, "--dependency", "cycle", NULL),
		LINE(BASH "#ROTA --after=812.x,812.y,812.x\n", 2, "--after", "\"x\" is named twice", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a:done\n", 3, "--after", "unknown condition \"done\"",
		     "corr and teardown"),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a:ok:any\n", 3, "--after", "unknown condition \"ok:any\"", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a:start+10\n", 3, "--after", "has a delay", "--begin"),
		LINE(BASH "#SBATCH --dependency=after:12+5\n", 2, "--dependency", "has a delay", NULL),
		LINE(BASH "#PBS -W depend=afterok:x\n", 2, "-W depend", "unknown step \"x\"", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b -d afterok:x\n", 3, "-d", "unknown step \"x\"", NULL),
		LINE(BASH "#ROTA -t 5 --time-min=9:00\n", 2, "--time-min", "the lowest time limit is longer than --time", NULL),
		LINE(BASH "#PBS -l walltime=60,min_walltime=90\n", 2, "-l min_walltime", "is longer", NULL),
		LINE(BASH "#SBATCH -n 1 -N 3\n", 2, "-n", "3 nodes need at least 3 tasks", NULL),
		LINE(BASH "#SBATCH --dependency=singletons\n", 2, "--dependency", "unknown type \"singletons\"", "aftercorr"),
		LINE(BASH "#SBATCH -d afterburstbuffer:7,afterburstbuffer:7\n", 2, "-d", "job 7 is named twice", NULL),
		LINE(BASH "#SBATCH -d afterburstbuffer:7.x\n", 2, "-d", "\"7.x\" is not the number of a job", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a:teardown\n", 3, "--after", "\"a\" is not the number of a job",
		     NULL),
		LINE(BASH "#SBATCH --dependency=expand:12\n", 2, "--dependency", "unknown type \"expand\"", NULL),
		LINE(BASH "#SBATCH --dependency=afterok\n", 2, "--dependency", "\"afterok\" names no job", NULL),
		LINE(BASH "#SBATCH --dependency=afterok:\n", 2, "--dependency", "unknown step \"\"", NULL),
		LINE(BASH "#SBATCH --dependency=afterok:123_4\n", 2, "--dependency", "\"123_4\" is neither a step nor a job",
		     NULL),
		LINE(BASH "#ROTA --after=0\n", 2, "--after", "\"0\" is neither a step nor a job", "812.solve"),
		LINE(BASH "#ROTA --after=99999999999999999999\n", 2, "--after", "is neither a step nor a job", NULL),
		LINE(BASH "#ROTA --after=812.\n", 2, "--after", "is neither a step nor a job", NULL),
		LINE(BASH "#ROTA --after=812.7\n", 2, "--after", "is neither a step nor a job", NULL),
		LINE(BASH "#ROTA --after='812.solve[7]'\n", 2, "--after", "is neither a step nor a job", NULL),
		LINE(BASH "#ROTA --same-nodes=812\n", 2, "--same-nodes", "steps of job 812 may have different nodes",
		     "812.solve"),
		LINE(BASH "#ROTA --with=812\n", 2, "--with", "\"812\" is in another job", NULL),
		LINE(BASH "#ROTA --after=a\n#ROTA step a\n#ROTA step b --after=none\n", 2, "--after",
		     "step \"a\" would wait for itself", NULL),
		LINE(BASH "#ROTA --same-nodes=a\n#ROTA step a\n#ROTA step b\n", 2, "--same-nodes", "the option is for one step",
		     NULL),
		SAID("--with=a", BASH "#ROTA step a\n#ROTA step b\n", "--with", "the option is for one step", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b\n#ROTA step c --same-nodes=a,b\n", 4, "--same-nodes", "more than one step",
		     NULL),
		LINE(BASH "#ROTA step a --array=0-3\n#ROTA step b --same-nodes=a\n", 3, "--same-nodes", "\"a\" is an array",
		     NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --same-nodes=a --other-nodes=a\n", 3, "--other-nodes",
		     "bound to the nodes of \"a\"", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --same-nodes=a\n#ROTA step c --same-nodes=a --other-nodes=b\n", 4,
		     "--other-nodes", "\"c\" is bound", NULL),
		LINE(BASH "#ROTA step a --nodes=2\n#ROTA step b --same-nodes=a --nodes=3\n", 3, "--same-nodes",
		     "\"b\" requests 3 nodes, but \"a\", whose nodes it shares, requests 2", NULL),
		LINE(BASH "#ROTA step a --nodes=2-4\n#ROTA step b --same-nodes=a\n#ROTA step c --same-nodes=b --nodes=2\n", 4,
		     "--same-nodes", "2 to 4", NULL),
		LINE(BASH "#ROTA step a --nodes=2\n#ROTA step b --same-nodes=a --ntasks=1\n", 3, "--ntasks",
		     "2 nodes need at least 2 tasks", NULL),
		LINE(BASH "#ROTA step a --array=0-3\n#ROTA step b --after=a:corr\n", 3, "--after", "\"b\" is not an array", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b --after=a:corr --array=0-3\n", 3, "--after", "\"a\" is not an array", NULL),
		LINE(BASH "#ROTA step a --array=0-3\n#ROTA step b --after=a:corr --array=1-4\n", 3, "--after",
		     "different indices", NULL),
		LINE(BASH "#ROTA step a --array=0-3\n#ROTA step b --after=a:corr --array=0-4\n", 3, "--after",
		     "different indices", NULL),
		LINE(BASH "#SBATCH -d afterok:5?singleton\n", 2, "-d", "joined to other conditions", NULL),
		LINE(BASH "#SBATCH -d singleton,singleton\n", 2, "-d", "named twice", NULL),
		LINE(BASH "#SBATCH -d aftercorr:5\n", 2, "-d", "\"script\" is not an array", NULL),
	};
	(void)state;
	REFUSALS(refusals, NULL);
}

static void refused_sizes(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "#ROTA --nodes=4 --ntasks=2\n", 2, "--ntasks", "4 nodes need at least 4 tasks", NULL),
		LINE(BASH "#ROTA --nodes=2 --ntasks=9 --ntasks-per-node=4\n", 2, "--ntasks",
		     "9 tasks are more than 4 on each of 2 nodes", NULL),
		LINE(BASH "#ROTA --ntasks=1000000 --cpus-per-task=1000000\n", 2, "--cpus-per-task", "more than a step can have",
		     NULL),
		LINE(BASH "#ROTA --nodes=1000000 --ntasks-per-node=1000000\n", 1, "--cpus-per-task", "more than a step can have",
		     NULL),
		LINE(BASH "#ROTA --nodes=2 --gpus=3\n", 2, "--gpus", "3 is not a multiple of the 2 nodes", "--gpus-per-node"),
		LINE(BASH "#ROTA --nodes=2-3\n#ROTA --gpus=6\n", 3, "--gpus", "number of nodes is not fixed", "--gpus-per-node"),
		LINE(BASH "#ROTA --gpus=2 --gpus-per-node=2\n", 2, "--gpus-per-node", "the option contradicts --gpus", NULL),
		LINE(BASH "#ROTA --mem-per-cpu=0\n", 2, "--mem-per-cpu", "a size of 0 is not allowed for this option", "--mem=0"),
		LINE(BASH "#ROTA --nodelist=n[1-3] --exclude=n[3-4]\n", 2, "--exclude", "node \"n3\" is in --nodelist too", NULL),
		LINE(BASH "#ROTA --nodes=2\n#ROTA --nodelist=n3\n", 3, "--nodelist",
		     "2 nodes are requested, but the list names 1", "without --nodes"),
		LINE(BASH "#PBS -l select=2:ncpus=2:host=n3\n", 2, "-l select", "2 nodes are requested", NULL),
		LINE(BASH "#ROTA step a --nodes=3\n#ROTA step b --same-nodes=a -w n[1-2]\n", 3, "-w", "the list names 2", NULL),
		SAID("--time-min=6", BASH "#ROTA --time=5\n", "--time-min", "longer than --time", NULL),
		LINE(BASH "#ROTA --deadline=2030-01-01\n", 2, "--deadline", "the deadline has passed", NULL),
		LINE(BASH "#ROTA --begin=now+2hours --deadline=now+1hour\n", 2, "--deadline", "not after --begin", NULL),
		LINE(BASH "#ROTA --time=2:00:00\n#ROTA --deadline=now+1hour\n", 3, "--deadline",
		     "need 7200 seconds, and 3600 are left", "--time-min"),
		SAID("--array=0-10000000", BASH "#ROTA --array=0-9999999\n#ROTA step a\n", "--array",
		     "10000001 elements requested", NULL),
	};
	(void)state;
	REFUSALS(refusals, NULL);
}

/* --strict, wherever it is given, turns warnings into refusals. */
static void strict(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "#ROTA --strict\n#SBATCH --hint=nomultithread\n", 3, "--hint", "ignored", "--strict turns"),
		{BASH "#ROTA --oversubscribe\n", {"--strict"}, 2, "--oversubscribe", "ignored", NULL},
		{BASH "true\n", {"--strict", "-s"}, 0, "-s", "allocated to one step", NULL},
		{BASH "#PBS -k oe\n", {"--strict"}, 2, "-k", "while the step runs", NULL},
		{BASH "#PBS -l walltime=60,vmem=2gb\n", {"--strict"}, 2, "-l vmem", "address space", NULL},
	};
	(void)state;
	REFUSALS(refusals, NULL);
}

static void limits(void **state)
{
	static const struct refusal refusals[] = {
		LINE(BASH "echo 9012345678901234567890123456789012345678901234567890123456789012345678901234567890\n", 0, "",
		     "the script has more than 90 bytes", NULL),
		LINE(BASH "#ROTA step a\n#ROTA step b\n#ROTA step c\n", 4, "", "more than 2 steps", NULL),
		LINE(BASH "#ROTA --after=1,2,3,4\n", 2, "--after", "more than 3 dependencies", NULL),
		LINE(BASH "#ROTA --array=0-4\n", 2, "--array", "5 elements requested; at most 4", NULL),
	};
	struct translate_limits small = {.script_bytes = 90, .steps = 2, .edges = 3, .array = 4};
	(void)state;
	REFUSALS(refusals, &small);
	struct translate_limits read;
	struct err e;
	json_t *facts = json_loads("{\"script_bytes\": 10, \"steps\": 3, \"array\": 5, \"partitions\": [{\"name\": \"p\", "
				   "\"nodes\": 2, \"cpus\": 8, "
				   "\"node_cpus\": 4, \"node_mem_mb\": 100, \"node_gres\": {\"gpu\": 1}, \"max_time_s\": null, "
				   "\"is_default\": true}]}",
				   0, NULL);
	assert_true(translate_limits_read(facts, &read, &e));
	json_decref(facts);
	assert_int_equal(read.script_bytes, 10);
	assert_int_equal(read.edges, translate_limits_default.edges);
	assert_true(read.know_partitions && read.partitions[0].is_default);
	assert_string_equal(read.partitions[0].name, "p");
	assert_int_equal(json_integer_value(json_object_get(read.partitions[0].node_gres, "gpu")), 1);
	translate_limits_free(&read);
	static const char *const bad[] = {"{\"steps\": 0}", "{\"steps\": \"1\"}", "{\"partitions\": 1}", "{\"partitions\": [{}]}",
					  "{\"partitions\": [{\"name\": \"p\", \"nodes\": -1}]}"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		facts = json_loads(bad[i], 0, NULL);
		assert_false(translate_limits_read(facts, &read, &e));
		json_decref(facts);
	}
	facts = json_object();
	assert_true(translate_limits_read(facts, &read, &e));
	assert_false(read.know_partitions);
	translate_limits_free(&read);
	json_decref(facts);
}

/* Facts that the client sends beside the script are checked, too. */
static void requests(void **state)
{
	static const struct {
		struct translate_request request;
		const char *message;
	} cases[] = {
		{{.workdir = "rel"}, "working directory"},
		{{.workdir = "/a\nb"}, "working directory"},
		{{.home = "~"}, "home directory"},
		{{.script_name = "a\nb"}, "name of the script"},
		{{.script_name = ""}, "name of the script"},
		{{.umask = 01000}, "umask"},
		{{.rlimits = "nofile=1024;"}, "resource limits"},
		{{.client_key = ""}, "client's key"},
		{{.client_key = "a\x01"}, "client's key"},
		{{.retry_key = ""}, "retries"},
		{{.retry_key = "0123456789abcdef0123456789abcdeg"}, "retries"},
		{{.retry_key = "0123456789abcdef0123456789abcdef0"}, "retries"},
		{{.client_key = "a", .retry_key = "0123456789abcdef0123456789abcdef"}, "only one of"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct translate_request q = request_of(BASH, strlen(BASH), NULL);
		struct translate_problems problems = {0};
		const struct translate_request *with = &cases[i].request;
		q.workdir = with->workdir ? with->workdir : q.workdir;
		q.home = with->home ? with->home : q.home;
		q.script_name = with->script_name ? with->script_name : q.script_name;
		q.umask = with->umask ? with->umask : q.umask;
		q.rlimits = with->rlimits ? with->rlimits : q.rlimits;
		q.client_key = with->client_key;
		q.retry_key = with->retry_key;
		assert_null(translate_script(&q, &translate_limits_default, &problems));
		if (problems.count != 1 || !strstr(problems.list[0].message, cases[i].message))
			fail_msg("\"%s\" instead of \"%s\"", problems.count ? problems.list[0].message : "", cases[i].message);
		translate_problems_free(&problems);
	}
	static const char nul[] = BASH "echo\n\0x\n";
	struct translate_request q = request_of(nul, sizeof nul - 1, NULL);
	struct translate_problems problems = {0};
	assert_null(translate_script(&q, &translate_limits_default, &problems));
	assert_int_equal(problems.list[0].line, 3);
	assert_string_equal(problems.list[0].message, "the script has a NUL byte");
	translate_problems_free(&problems);
	q = request_of(BASH, strlen(BASH), NULL);
	q.client_key = "key";
	json_t *plan = translate_script(&q, &translate_limits_default, &problems);
	assert_string_equal(json_string_value(pick(plan, "job/client_key")), "key");
	json_decref(plan);
}

/* Several problems: sorted by line, each once, and at most TRANSLATE_PROBLEMS_MOST. */
static void many_problems(void **state)
{
	struct translate_problems problems;
	char script[20000] = BASH "#ROTA --x1\n#ROTA --mem=1 --mem-per-cpu=2\n#ROTA step a --x2\n#ROTA step b --after=zz\n";
	(void)state;
	assert_null(run(script, (const char *[]){"--x0", NULL}, NULL, &problems));
	assert_int_equal(problems.count, 4);
	assert_string_equal(problems.list[0].option, "--x0");
	assert_string_equal(problems.list[1].option, "--x1");
	assert_string_equal(problems.list[2].option, "--x2");
	assert_string_equal(problems.list[3].option, "--after");
	translate_problems_free(&problems);
	strcpy(script, BASH);
	for (int i = 0; i < 100; i++)
		snprintf(script + strlen(script), 40, "#ROTA --bad%d\n", i);
	assert_null(run(script, NULL, NULL, &problems));
	assert_int_equal(problems.count, TRANSLATE_PROBLEMS_MOST);
	assert_int_equal(problems.more, 50);
	translate_problems_free(&problems);
	assert_null(run(BASH "#ROTA --mem=1 --mem-per-cpu=2\n#ROTA step a\n#ROTA step b\n", NULL, NULL, &problems));
	assert_int_equal(problems.count, 1);
	translate_problems_free(&problems);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_lines), cmocka_unit_test(refused_peers), cmocka_unit_test(refused_sizes),
		cmocka_unit_test(strict),	 cmocka_unit_test(limits),	  cmocka_unit_test(requests),
		cmocka_unit_test(many_problems),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
