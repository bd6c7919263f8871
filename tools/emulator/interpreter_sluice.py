"""Starts LocalStack with nothing but Step Functions, and sends the tasks of its state machines to the address in SLUICE_TASKS.

LocalStack asks one function for a client of the service that a task names. Its own services are answered by itself; all others, Lambda above all, are
played by whoever started this.
"""

import os
import runpy
import sys
import threading

import boto3
from localstack.services.stepfunctions.asl.utils import boto_client

TASKS = os.environ["SLUICE_TASKS"]
OWN_SERVICES = {"stepfunctions", "sfn"}
of_localstack = boto_client.boto_client_for


def client_for(service, region, state_credentials):
    if service in OWN_SERVICES:
        return of_localstack(service=service, region=region, state_credentials=state_credentials)
    return boto3.client(
        service,
        region_name=region,
        endpoint_url=TASKS,
        aws_access_key_id="000000000000",
        aws_secret_access_key="test",
        config=boto_client._BOTO_CLIENT_CONFIG,
    )


def end_with_input():
    """Whoever started this holds the other end of its input; when that closes, even by a kill, there is nobody left to serve."""
    sys.stdin.read()
    os._exit(0)


boto_client.boto_client_for = client_for
threading.Thread(target=end_with_input, daemon=True).start()
runpy.run_module("localstack.runtime.main", run_name="__main__")
