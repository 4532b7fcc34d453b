"""boto3 against /storage/v1/s3; run by s3-tools.test.mjs, which says where that is."""

import hashlib
import io
import os
import unittest
import urllib.error
import urllib.request
import uuid

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

MIB = 1024 * 1024


def client(**changes):
    options = {
        "endpoint_url": os.environ["S3_ENDPOINT"],
        "region_name": os.environ["S3_REGION"],
        "aws_access_key_id": os.environ["S3_ACCESS_KEY"],
        "aws_secret_access_key": os.environ["S3_SECRET_KEY"],
        "config": Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    }
    return boto3.client("s3", **{**options, **changes})


def answer(request):
    """Status and body, also of a refusal."""
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def form(url, fields, content):
    boundary = uuid.uuid4().hex
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    body = "".join(parts).encode() + head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    kind = f"multipart/form-data; boundary={boundary}"
    return urllib.request.Request(url, data=body, headers={"content-type": kind}, method="POST")


class Boto3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s3 = client()
        cls.bucket = "python"
        cls.s3.create_bucket(Bucket=cls.bucket)

    def refused(self, status, code, call, **arguments):
        with self.assertRaises(ClientError) as refusal:
            call(**arguments)
        response = refusal.exception.response
        self.assertEqual(response["ResponseMetadata"]["HTTPStatusCode"], status)
        self.assertEqual(response["Error"]["Code"], code)

    def test_objects_come_back(self):
        names = ["plain", "a b+c&d=e", "it's (1)!*", "x//y", "1e5", " "]
        for name in names:
            key = f"odd/{name}"
            self.s3.put_object(Bucket=self.bucket, Key=key, Body=name.encode(), Metadata={"Name": "v"})
            got = self.s3.get_object(Bucket=self.bucket, Key=key)
            self.assertEqual(got["Body"].read(), name.encode())
            self.assertEqual(got["Metadata"], {"name": "v"})
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix="odd/", PaginationConfig={"PageSize": 2}
        )
        found = [entry["Key"] for page in pages for entry in page["Contents"]]
        self.assertEqual(found, sorted(f"odd/{name}" for name in names))
        first = self.s3.list_objects(Bucket=self.bucket, Prefix="odd/", MaxKeys=1)
        self.assertTrue(first["IsTruncated"])
        removed = self.s3.delete_objects(
            Bucket=self.bucket, Delete={"Objects": [{"Key": key} for key in found], "Quiet": True}
        )
        self.assertNotIn("Errors", removed)
        self.assertEqual(self.s3.list_objects_v2(Bucket=self.bucket, Prefix="odd/")["KeyCount"], 0)

    def test_large_files_go_in_parts(self):
        content = os.urandom(12 * MIB + 17)
        config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB, max_concurrency=3)
        self.s3.upload_fileobj(io.BytesIO(content), self.bucket, "large", Config=config)
        head = self.s3.head_object(Bucket=self.bucket, Key="large")
        self.assertEqual(head["ContentLength"], len(content))
        self.assertRegex(head["ETag"], r'^"[0-9a-f]{32}-3"$')
        self.s3.copy({"Bucket": self.bucket, "Key": "large"}, self.bucket, "copied", Config=config)
        out = io.BytesIO()
        self.s3.download_fileobj(self.bucket, "copied", out, Config=config)
        self.assertEqual(hashlib.sha256(out.getvalue()).digest(), hashlib.sha256(content).digest())

    def test_uploads_are_listed_and_given_up(self):
        at = {"Bucket": self.bucket, "Key": "parts"}
        upload = self.s3.create_multipart_upload(**at)["UploadId"]
        other = self.s3.create_multipart_upload(**at)["UploadId"]
        self.s3.upload_part(**at, UploadId=upload, PartNumber=3, Body=b"three")
        parts = self.s3.list_parts(**at, UploadId=upload)["Parts"]
        self.assertEqual([(part["PartNumber"], part["Size"]) for part in parts], [(3, 5)])
        found = []
        for page in self.s3.get_paginator("list_multipart_uploads").paginate(
            Bucket=self.bucket, Prefix="parts", PaginationConfig={"PageSize": 1}
        ):
            found += [entry["UploadId"] for entry in page.get("Uploads", [])]
        self.assertEqual(sorted(found), sorted([upload, other]))
        for identity in [upload, other]:
            self.s3.abort_multipart_upload(**at, UploadId=identity)
        self.refused(404, "NoSuchUpload", self.s3.list_parts, **at, UploadId=upload)

    def test_links_read_and_write(self):
        at = {"Bucket": self.bucket, "Key": "linked file"}
        put = self.s3.generate_presigned_url("put_object", Params=at, ExpiresIn=60)
        self.assertEqual(answer(urllib.request.Request(put, data=b"by link", method="PUT"))[0], 200)
        get = self.s3.generate_presigned_url("get_object", Params=at, ExpiresIn=60)
        self.assertEqual(answer(get), (200, b"by link"))
        status, body = answer(get.replace("linked%20file", "large"))
        self.assertEqual(status, 403)
        self.assertIn(b"SignatureDoesNotMatch", body)

    def test_forms_upload_what_their_policy_allows(self):
        post = self.s3.generate_presigned_post(
            self.bucket,
            "forms/${filename}",
            Fields={"x-amz-meta-by": "form"},
            Conditions=[{"x-amz-meta-by": "form"}, ["content-length-range", 2, 5]],
            ExpiresIn=60,
        )
        url, fields = post["url"], post["fields"]
        self.assertEqual(answer(form(url, fields, b"four"))[0], 204)
        got = self.s3.get_object(Bucket=self.bucket, Key="forms/a.txt")
        self.assertEqual((got["Body"].read(), got["Metadata"]), (b"four", {"by": "form"}))

        def refusal(content=b"four", **changes):
            status, body = answer(form(url, {**fields, **changes}, content))
            return status, body.split(b"<Code>")[1].split(b"</Code>")[0].decode()

        self.assertEqual(refusal(b"far too large"), (413, "EntityTooLarge"))
        self.assertEqual(refusal(b"1"), (400, "EntityTooSmall"))
        self.assertEqual(refusal(key="elsewhere"), (403, "AccessDenied"))
        self.assertEqual(refusal(acl="public-read"), (403, "AccessDenied"))
        changed = {"x-amz-signature": "0" * 64}
        self.assertEqual(refusal(**changed), (403, "SignatureDoesNotMatch"))
        late = self.s3.generate_presigned_post(self.bucket, "late", ExpiresIn=-10)
        status, body = answer(form(late["url"], late["fields"], b"x"))
        self.assertEqual(status, 400)
        self.assertIn(b"ExpiredToken", body)

    def test_others_are_refused(self):
        wrong = client(aws_secret_access_key="0" * 64)
        self.refused(403, "SignatureDoesNotMatch", wrong.list_buckets)
        self.refused(404, "NoSuchKey", self.s3.get_object, Bucket=self.bucket, Key="none")
        self.refused(501, "NotImplemented", self.s3.get_bucket_cors, Bucket=self.bucket)

    def test_old_ways_of_sending_work(self):
        config = Config(
            s3={"addressing_style": "path", "payload_signing_enabled": True},
            request_checksum_calculation="when_required",
        )
        signed = client(config=config)
        signed.put_object(Bucket=self.bucket, Key="signed", Body=b"whole body signed")
        got = signed.get_object(Bucket=self.bucket, Key="signed", Range="bytes=6-9")
        self.assertEqual(got["Body"].read(), b"body")


if __name__ == "__main__":
    unittest.main()
