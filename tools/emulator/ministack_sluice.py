"""Starts ministack with what the tests of Sluice need of it.

Each hook says what it mends. A hook whose place has moved in another version warns and is left out, so that a newer emulator can be tried.
"""

import os
import sys
import threading

from ministack.core import lambda_runtime
from ministack.services import lambda_svc, s3, sqs
from ministack.services.cloudformation import provisioners


def applies(found, what):
    if not found:
        print(f"ministack_sluice: not applied, its place has moved: {what}", file=sys.stderr)
    return bool(found)


def name_errors():
    """A handler's error keeps its own name, and its environment lives on, as on AWS."""
    thrown = 'status: "error", error: String(err.message || err), trace: err.stack || ""'
    told = (
        'status: "ok", result: {__thrown: {errorType: (err && err.name) || "Error", '
        'errorMessage: String((err && err.message) || err), trace: String((err && err.stack) || "").split("\\n")}}'
    )
    script = lambda_runtime._NODEJS_WORKER_SCRIPT
    if not applies(thrown in script, "names of errors"):
        return
    lambda_runtime._NODEJS_WORKER_SCRIPT = script.replace(thrown, told)
    inner = lambda_svc._execute_function_warm

    def execute(func, event, request_id):
        answer = inner(func, event, request_id)
        body = answer["body"]
        error = body.get("__thrown") if isinstance(body, dict) else None
        if error is None:
            return answer
        log = "\n".join([answer.get("log") or "", *error["trace"]])
        return {"body": error, "error": True, "log": log}

    lambda_svc._execute_function_warm = execute


def hurry_logs():
    """A handler that logs nothing is not waited for."""
    drain = lambda_runtime.Worker._drain_stderr_bounded
    if applies(len(drain.__defaults__ or ()) == 3, "wait for logs"):
        drain.__defaults__ = (0.003, 0.005, 0.25)


def tag_buckets():
    """Tags of a bucket are seen by CDK's custom resource that empties it."""
    handler = provisioners._RESOURCE_HANDLERS.get("AWS::S3::Bucket")
    if not applies(handler, "tags of buckets"):
        return

    def tagged(make, position):
        def run(*args, **named):
            made = make(*args, **named)
            s3._bucket_tags[made[0]] = {tag["Key"]: tag["Value"] for tag in args[position].get("Tags", [])}
            return made

        return run

    handler["create"] = tagged(handler["create"], 1)
    handler["update"] = tagged(handler["update"], 2)


def leave_streams():
    """The emulator's own mapping of Kinesis takes every answer for success; the tests bring one of their own."""
    if os.environ.get("SLUICE_OWN_STREAM_MAPPINGS") == "1" and applies(hasattr(lambda_svc, "_poll_kinesis"), "poller of streams"):
        lambda_svc._poll_kinesis = lambda: False


def shorten_memory():
    """How long a FIFO queue remembers the id of a message; five minutes are too long to wait for in a test."""
    seconds = os.environ.get("SLUICE_QUEUE_MEMORY_SECONDS")
    if seconds is not None and applies(hasattr(sqs, "_DEDUP_WINDOW_S"), "memory of queues"):
        sqs._DEDUP_WINDOW_S = int(seconds)


def end_with_starter():
    """Whoever started the emulator holds the other end of its input. When that closes, even by a kill, the emulator ends too."""
    if os.environ.get("SLUICE_END_WITH_INPUT") != "1":
        return

    def wait():
        while sys.stdin.buffer.read(4096):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


end_with_starter()
name_errors()
shorten_memory()
hurry_logs()
tag_buckets()
leave_streams()

from ministack.app import main  # noqa: E402  it reads the hooked modules

sys.exit(main())
