"""An object store that speaks S3's protocol and checks every signature: moto, on a free port.

Makes a user with an access key first, and from then on refuses what is not signed with it. Writes one line of JSON, with
the address and the key, into the file that is named to it, and ends with its standard input.
"""

import json
import os
import sys

import boto3
from moto import settings
from moto.server import ThreadedMotoServer

POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
        {"Effect": "Deny", "Action": "s3:GetBucketVersioning", "Resource": "arn:aws:s3:::locked"},
    ],
}
BUCKETS = {"pictures": None, "versioned": "Enabled", "suspended": "Suspended", "locked": None}


def client(service, endpoint):
    return boto3.client(
        service, endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none")


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://%s:%d" % server.get_host_and_port()
    iam = client("iam", endpoint)
    iam.create_user(UserName="fanfare")
    iam.put_user_policy(UserName="fanfare", PolicyName="store", PolicyDocument=json.dumps(POLICY))
    key = iam.create_access_key(UserName="fanfare")["AccessKey"]
    s3 = client("s3", endpoint)
    for bucket, status in BUCKETS.items():
        s3.create_bucket(Bucket=bucket)
        if status:
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    words = {"endpoint": endpoint, "id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
    # Whole or not at all, for whoever waits for the file.
    with open(sys.argv[1] + ".new", "w") as file:
        json.dump(words, file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    sys.stdin.read()


main()
