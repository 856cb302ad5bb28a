// What both libraries' HTTP transports share: the key in the header, and the status of the last answer, which the
// libraries hide in errors of their own.

export class Wire {
  status = 0;
  body = "";

  constructor(key) {
    this.requestInit = { headers: { authorization: `Bearer ${key}` } };
    this.fetch = async (url, init) => {
      const answer = await fetch(url, init);
      this.status = answer.status;
      if (answer.status >= 400) this.body = await answer.clone().text();
      return answer;
    };
  }
}
