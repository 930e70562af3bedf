declare const worker: { fetch(request: Request, variables: { PROJECT: string }): Promise<Response> };
export default worker;
