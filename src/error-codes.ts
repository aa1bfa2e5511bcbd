/** The ten error types of the interface (part 2.1) and the HTTP status of each, where no code has another. */
export const TYPE_STATUS = {
  invalid_request: 400,
  auth_error: 401,
  rate_limit: 429,
  insufficient_quota: 402,
  content_policy: 400,
  timeout: 504,
  network_error: 502,
  service_error: 502,
  billable_error: 502,
  unknown: 500,
} as const;

type Type = keyof typeof TYPE_STATUS;

interface CodeEntry<Name extends Type> {
  /** The types of failures with this code, the usual one first. */
  readonly types: readonly Name[];
  /** Status of the usual type; a failure of another type has the status of that type. */
  readonly status: number;
  /** One sentence for the reference. */
  readonly meaning: string;
}

/** A group of codes that have the same types and status. */
function group<const Name extends Type, const Code extends string>(
  types: Name | readonly [Name, ...Name[]],
  status: number,
  meanings: Readonly<Record<Code, string>>,
): Readonly<Record<Code, CodeEntry<Name>>> {
  const list = typeof types === 'string' ? [types] : types;
  const entries = Object.entries(meanings).map(([code, meaning]) => [
    code,
    { types: list, status, meaning },
  ]);
  return Object.fromEntries(entries) as Record<Code, CodeEntry<Name>>;
}

/** Why one file of a batch failed. The batch goes on: these codes are in its report. */
const FILE_CODES = {
  ...group('invalid_request', 400, {
    unsupported_format: 'Oriel does not read this image format.',
    corrupt_image: 'The image is damaged.',
    empty_file: 'The file has no bytes.',
    too_many_frames: 'The image has more frames than the limit.',
    crop_out_of_bounds: 'The rectangle reaches beyond the image.',
    overlay_out_of_bounds: 'The overlay would be outside of the image.',
    font_not_found: 'The font is not installed, or no font at all.',
    text_too_long: 'The text is too long with the values of its placeholders.',
    output_too_large:
      'The output would have more pixels along a side than its format or the limit allows.',
    larger_than_input: 'The output would be larger than the input, and may not have its bytes.',
    animation_unsupported: 'All frames are requested, but the output format holds only one.',
    timeout: 'The work on the file took longer than its deadline.',
    work_exceeds_deadline: 'The estimated work on the file is longer than its deadline.',
    work_exceeds_memory: 'The estimated work on the file needs more memory than one job may use.',
    worker_crashed: 'The process or thread that worked on the file died.',
    not_found: 'There is no such file.',
    is_directory: 'The path is a folder.',
    read_failed: 'The file could not be read.',
    processing_failed: 'The image library failed on the file.',
    target_unsupported:
      'The output format has no quality or palette by which a target could be reached.',
    profile_invalid: 'The colour profile is damaged, too large, or neither of RGB nor of CMYK.',
    profile_unsupported: 'The output format cannot hold the colours of the profile.',
    lossless_impossible: 'The change cannot be made without encoding pixels again.',
    metadata_not_writable: 'The format or the file cannot hold the metadata.',
    size_mismatch: 'The image and its reference differ in size.',
  }),
  ...group('invalid_request', 413, {
    file_too_large: 'The file has more bytes than the limit.',
    image_too_large: 'The image has more pixels or frames, or needs more work, than the limit.',
  }),
} as const;

/** Codes that clients of the daemon get, beside those that an upstream chose. */
export const HTTP_CODES = {
  ...FILE_CODES,
  ...group('invalid_request', 400, {
    context_length_exceeded: 'The input is longer than the context of the model.',
    invalid_request: 'The request cannot be read, for a reason that the message states.',
    invalid_config: 'The configuration is not valid.',
    invalid_recipe: 'The recipe has faults, which the message lists with their lines.',
    malformed_request: 'The bytes are not a valid HTTP request.',
    invalid_url: 'The path is not valid.',
    invalid_stream_id: 'The name of the stream of a WebSocket is not valid.',
    websocket_stream_limit_reached: 'The WebSocket has its largest number of named streams.',
    websocket_connection_limit_reached: 'The WebSocket has reached its greatest age.',
    invalid_content_length: 'The body has another length than Content-Length.',
    invalid_json: 'The body is empty or not valid JSON.',
    nested_too_deep: 'The JSON body nests deeper than the limit.',
    nested_too_deeply: 'The request nests deeper than the sandbox can follow.',
    too_many_values: 'The JSON body has more values than the limit.',
    malformed_form: 'The body is not a well-formed multipart form.',
    unsupported_image: 'Oriel does not read the image format of this input.',
    not_allowed: 'Neither the model nor the key allows this feature.',
    not_supported_by_model: "The provider's format has no equivalent of this parameter.",
    thread_unsupported_request:
      'The request uses a thread, a conversation that the provider stores; send the whole conversation.',
    conflicting_parameters: 'Two parameters contradict each other.',
    reasoning_missing: 'An earlier answer of the assistant comes without its reasoning.',
    unknown_parameter: 'This version does not know the parameter.',
    unsupported_parameter: 'The model does not accept this parameter.',
    unsupported_value: 'The model does not accept this value.',
    unsupported_reasoning_effort: 'The model does not have this reasoning effort.',
    unsupported_schema: 'The sandbox cannot generate a value for this JSON Schema.',
    wrong_model_type: 'The model is of another type than the endpoint.',
    prompt_too_long: 'The prompt is too long to be checked.',
    private_address: 'The URL leads to a private network.',
    address_denied: 'The URL leads to an address that the operator denies.',
    port_denied: 'The daemon does not connect to the port of this URL.',
  }),
  ...group('invalid_request', 404, {
    unknown_endpoint: 'There is no such endpoint.',
    request_not_found: 'The log has no such request.',
    file_not_found: 'The account has no such file.',
    batch_not_found: 'The account has no such batch.',
    task_not_found: 'The account has no such task.',
    document_not_found: 'The account has no such response, conversation or item.',
    image_expired: 'The URL of the image has expired.',
    source_not_found: 'The source of the image does not exist.',
    asset_not_found: 'There is no such file, or it has been deleted.',
    account_not_found: 'There is no such account.',
    key_not_found: 'There is no such API key.',
    team_not_found: 'There is no such team.',
    provider_not_found: 'There is no such provider.',
    delivery_not_found: 'There is no such callback.',
  }),
  ...group(['invalid_request', 'service_error'], 404, {
    model_not_found: 'There is no such model.',
  }),
  ...group('invalid_request', 405, {
    method_not_allowed:
      'The endpoint does not support this method. The header Allow lists its methods.',
  }),
  ...group('invalid_request', 408, {
    request_timeout: 'The request did not arrive in time.',
  }),
  ...group('invalid_request', 409, {
    account_exists: 'An account of this name exists already.',
    asset_exists: 'A file of this name exists already.',
    key_exists: 'The API key exists already.',
    key_ambiguous: 'Several API keys match.',
    key_revoked: 'The API key was revoked and cannot be changed.',
    team_exists: 'The account already has a team of this name.',
    team_has_keys: 'The team still has API keys.',
    provider_exists: 'A provider of this name exists already.',
    model_exists: 'A model of this name exists already.',
    provider_in_use: 'Models still have routes to the provider.',
    file_in_use: 'A batch that has not ended reads the file.',
    batch_ended: 'The batch has ended already.',
    batch_running: 'The batch has not ended yet.',
    read_only: 'The configuration file sets it; change it there.',
    provider_test_failed: 'The provider failed the test, so it was not added.',
    team_ambiguous: 'Several accounts have a team of this name.',
    task_state: 'The task is in a state that does not allow this.',
    claim_lost: 'Another node has taken the task or callback over.',
    delivery_state: 'The callback was delivered, or has failed for good.',
    document_exists: 'The account has an object with this identifier already.',
    document_changed: 'The object was changed or deleted meanwhile.',
    idempotency_conflict: 'The Idempotency-Key was used for another request.',
  }),
  ...group('invalid_request', 413, {
    request_too_large: 'The body has more bytes than the limit.',
  }),
  ...group('invalid_request', 415, {
    unsupported_media_type:
      'The endpoint requires another Content-Type, or a body without Content-Encoding.',
  }),
  ...group('invalid_request', 416, {
    range_not_satisfiable: 'The range begins after the end of the file.',
  }),
  ...group('invalid_request', 426, {
    upgrade_required:
      'The endpoint does not accept WebSockets, or the request does not ask for one and the endpoint accepts nothing else.',
  }),
  ...group('invalid_request', 431, {
    headers_too_large: 'The headers are larger than 16 KiB.',
  }),
  ...group('invalid_request', 499, {
    client_left: 'The client disconnected before the response. This code appears only in the log.',
  }),
  ...group('auth_error', 401, {
    missing_api_key: 'The request has no API key.',
    invalid_api_key: 'The API key is unknown or malformed.',
    revoked_api_key: 'The API key was revoked.',
    expired_api_key: 'The API key has expired.',
    session_ended: "The browser's session has ended.",
    wrong_token: "The token is not the daemon's administration token.",
  }),
  ...group('auth_error', 403, {
    model_not_allowed: 'The API key may not use this model.',
    paid_account_required: 'The endpoint needs an API key of a paid account.',
    owner_required: 'The endpoint needs a key of the account owner that has no limits.',
    invalid_signature: 'The signature of the image URL does not match.',
    source_not_allowed:
      'The source of the image is on no host, in no bucket and in no folder that the settings allow.',
    cross_origin_session: 'The request uses a session and comes from a page of another origin.',
    metrics_token_required:
      'No metrics.token is set, without which clients cannot read the metrics.',
  }),
  ...group('insufficient_quota', 402, {
    insufficient_credits: 'The account has fewer credits than the request may cost.',
    key_budget_exceeded: 'The budget of the API key has fewer credits than the request may cost.',
    key_window_exceeded:
      'The daily, weekly or monthly budget of the API key has fewer credits left than the request may ' +
      'cost; the message says when it resets, and Retry-After in how many seconds.',
    team_budget_exceeded:
      "The budget of the key's team has fewer credits than the request may cost.",
    team_window_exceeded:
      "The daily, weekly or monthly budget of the key's team has fewer credits left than the request may " +
      'cost; the message says when it resets, and Retry-After in how many seconds.',
    storage_full: "The account's files use all of its storage.",
  }),
  ...group('rate_limit', 429, {
    rate_limit_exceeded: 'The API key has used all of its requests for this minute.',
    tokens_per_minute_exceeded:
      'The API key, or its team, has too few tokens left for this minute (`--tpm`).',
    parallel_requests_exceeded:
      'The API key, or its team, has too many requests in progress (`--parallel`).',
    too_many_invalid_api_keys: 'The address has sent too many invalid API keys.',
    too_many_large_requests: 'The account has too many large requests in progress.',
    too_many_requests_in_progress:
      'Memory is short and the client has too many requests in progress.',
    too_many_waiting: 'The account has too many images waiting.',
    too_many_tasks: 'The account has too many open tasks.',
    too_many_sockets: 'The account has too many WebSockets open.',
    too_many_streams: 'The account, or the daemon, has too many open event streams.',
    too_many_rotations: 'The callback secret was rotated too often in this hour.',
  }),
  ...group('content_policy', 400, {
    content_policy: 'The prompt violates the content policy.',
  }),
  ...group('timeout', 504, {
    connect_timeout: 'The other server took too long to accept a connection.',
    first_byte_timeout: 'The other server did not begin to answer in time.',
    idle_timeout: 'The other server stopped in the middle of its answer.',
    total_timeout: 'The answer was not complete in time.',
    source_timeout: 'The source of the image did not arrive in time.',
    upstream_timeout: 'The provider reported a timeout.',
    task_expired: 'The task did not end before its deadline.',
    task_running: 'The task did not end while the request waited for it. The task continues.',
  }),
  ...group('network_error', 502, {
    unreachable: 'The other server cannot be reached.',
    connection_lost: 'The other server closed the connection.',
    aborted: 'The request to the other server was aborted.',
    stream_truncated: 'The stream ended before the answer was complete.',
  }),
  ...group('service_error', 500, {
    asset_damaged: 'The file is damaged in the storage of this server.',
    record_damaged: 'A record is damaged on the disk of this server.',
  }),
  ...group('service_error', 502, {
    upstream_auth: "The provider rejects the gateway's credentials.",
    upstream_not_found: 'The provider does not know the model or the address.',
    upstream_refused: 'The provider rejects the request.',
    upstream_redirect: 'The provider redirects to another address than the configured one.',
    upstream_conflict: 'The provider was not ready.',
    upstream_error: 'The provider broke off its answer.',
    upstream_request_invalid: 'The request to the provider cannot be sent over HTTP.',
    upstream_answer_too_large: 'The answer of the other server is larger than the limit.',
    cassette_miss: 'No recording answers this request to the provider.',
    upstream_answer_unreadable: "The provider's answer cannot be decompressed.",
    invalid_upstream_answer: "The provider's answer cannot be parsed.",
    stream_restarted: 'The provider began a second answer in one stream.',
    source_unavailable: 'The source of the image cannot be fetched.',
    fetch_refused: 'The address of an input returned an error.',
    fetch_redirect: 'The address of an input redirects too often or to no valid address.',
    download_refused: 'The address of a result returned an error.',
    download_unavailable: 'The address of a result is temporarily unavailable.',
    task_abandoned: 'The server stopped several times while it worked on the task.',
    unknown_sandbox_model: 'The sandbox has no such model.',
  }),
  ...group('service_error', 503, {
    model_unavailable: 'The settings of the provider of a model are at fault.',
    secrets_unreadable: 'The key that decrypts the secrets of a provider is missing.',
    overloaded: 'The server is overloaded.',
    shutting_down:
      'The server is shutting down. It accepts no new requests, and ends requests that take too long.',
    connections_exhausted: 'The server cannot open a connection at present.',
    store_unavailable: 'The store cannot be written or read.',
    storage_unavailable: 'Files cannot be stored at present.',
    disk_unavailable: 'The disk of the server does not answer.',
    pool_unavailable: 'The image processes do not answer.',
    audit_unavailable: 'The audit log cannot be written, so nothing was changed.',
    image_not_read: 'The image could not be examined.',
    text_not_judged: 'The text could not be checked against the content policy.',
    upstream_overloaded: 'The provider is overloaded.',
    upstream_quota: 'The provider has no credit left for the gateway.',
    upstreams_resting: 'All providers of the model are failing.',
  }),
  ...group('billable_error', 502, {
    untranslatable_output:
      "The model's answer has content that the client's format cannot express.",
    invalid_json_output: 'The model was asked for a JSON object, but wrote something else.',
    interrupted_call:
      'The server stopped while a provider was working. The provider may have charged.',
  }),
  ...group(['service_error', 'billable_error'], 502, {
    upstream_failed: 'The provider failed.',
    unusable_result: 'The provider made no usable result.',
  }),
  ...group(['service_error', ...(Object.keys(TYPE_STATUS) as Type[])], 502, {
    sandbox_failure: 'The prompt asked the sandbox to fail.',
  }),
  ...group('unknown', 500, {
    internal_error: 'A defect of the server. The log has the details.',
  }),
} as const;

/** Codes that only the command line and the log of the daemon have. */
const LOCAL_CODES = {
  ...group('invalid_request', 400, {
    usage: 'The arguments are invalid.',
    data_folder_open: 'Other users may read or write in the data folder.',
    no_audit: 'The data folder has no audit log.',
    cassette_unreadable: 'A recording is no recording, of a newer version, or cut off.',
    cassette_folder: 'The folder of cassettes cannot be read or written.',
    output_exists: 'A file exists where the output would be written.',
  }),
  ...group('invalid_request', 409, {
    store_not_empty: 'The target store is not empty.',
    one_process_only: 'The configuration allows no second process on the port.',
    two_stores: 'The data folder and the configuration belong to different stores.',
  }),
  ...group('invalid_request', 404, {
    no_store: 'The data folder has no store.',
    no_supervisor: 'No daemon with several processes runs on the data folder.',
  }),
  ...group('network_error', 502, {
    outcome_unknown: 'The connection to the daemon was lost: the change may have been made.',
  }),
  ...group('service_error', 500, {
    restart_failed: 'A new process could not start, so not all were replaced.',
    backup_invalid: 'A backup is damaged, incomplete or not of Oriel.',
    store_corrupt: 'A file of the store is missing or damaged.',
    store_missing: 'The data folder has files of a store, and the store is gone.',
    store_newer: 'A later version of Oriel has written the store.',
  }),
  ...group('service_error', 502, {
    listen_failed: 'The daemon cannot listen on its address.',
  }),
  ...group('service_error', 503, {
    store_locked: 'Another process is using the store.',
  }),
  ...group('unknown', 500, {
    write_failed: 'The output could not be written.',
  }),
} as const;

/** Every code, with its types, its status and its meaning. */
export const ERROR_CODES = { ...HTTP_CODES, ...LOCAL_CODES } as const;

export type FileErrorCode = keyof typeof FILE_CODES;

export type ErrorCode = keyof typeof ERROR_CODES;
