"""A CPO's integration with nothing but Python's standard library, from 3.9 on.

python3 ere.py            token, account, a file of months, positions: with BASE_URL, CLIENT_ID, CLIENT_SECRET
python3 ere.py receive    receives webhooks on 127.0.0.1:$PORT, verifies and prints them: with PORT, WEBHOOK_SECRET
"""
import base64, hashlib, hmac, http.server, json, os, sys, time, urllib.error, urllib.parse, urllib.request


def call(path, body=None, type="application/json", token=""):
    """An answer of the API: GET without a body, else POST. 429 and 503 are sent again when Retry-After says."""
    headers = {"Content-Type": type, "Authorization": f"Bearer {token}"} if token else {"Content-Type": type}
    request = urllib.request.Request(os.environ["BASE_URL"] + path, data=body, headers=headers)
    for attempt in range(5):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (429, 503) or attempt == 4:
                sys.exit(refusal.read().decode())
            time.sleep(int(refusal.headers.get("Retry-After", 1)))


def main():
    secrets = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}
    form = urllib.parse.urlencode({"grant_type": "client_credentials", **secrets}).encode()
    token = call("/oauth-token", form, "application/x-www-form-urlencoded")["access_token"]
    account = {
        "cpo_external_ref": "PY-1", "iban": "NL91ABNA0417164300",
        "person": {"full_name": "Sanne de Vries", "email": "sanne@example.nl"},
        "connection": {"ean_code": "871687110000003019", "postal_code": "3818 LH", "house_number": "12"},
    }  # a repeat with the same cpo_external_ref answers the same account
    created = call("/v1/accounts", json.dumps(account).encode(), token=token)
    print(created["account_id"], created["mandate_status"])
    file = call("/v1/uploads", b"klantnummer;maand;kWh\nPY-1;2026-03;312,5\n", "text/csv", token)
    print(file["kind"], file["sums"]["kwh"], [row["status"] for row in file["results"]])
    offset = 0
    while page := call(f"/v1/ere-positions?limit=200&offset={offset}", token=token):
        for position in page["positions"]:
            print(position["cpo_external_ref"], position["total_kwh_delivered"], position["checklist"])
        offset += page["count"]
        if not page["has_more"]:
            break


def verify(headers, body, secret):
    """The event in a webhook. Raises ValueError if the signature is wrong, or more than five minutes away."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if abs(time.time() - int(timestamp)) > 300:
        raise ValueError("more than five minutes away")
    signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    ours = b"v1," + base64.b64encode(signed)
    if not any(hmac.compare_digest(ours, each.encode()) for each in headers.get("webhook-signature", "").split()):
        raise ValueError("no signature fits")
    return json.loads(body)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            event = verify(self.headers, self.rfile.read(int(self.headers["Content-Length"])), os.environ["WEBHOOK_SECRET"])
            print(self.headers["webhook-id"], event["type"], flush=True)
            self.send_response(204)
        except ValueError:
            self.send_response(400)
        self.end_headers()


if sys.argv[1:] == ["receive"]:
    http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
else:
    main()
